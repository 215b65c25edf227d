import { Backoff, type Runtime, type Timer } from '../../time/index.js';
import type { PumpEventSink } from './events.js';
import type { ShardRunner } from './runner.js';

const retry = { firstMs: 1_000, limitMs: 30_000 };

interface Rest {
  readonly backoff: Backoff;
  timer: Timer | undefined;
}

/**
 * The shards with something in their log that is not ours. Each rests by itself, longer each time, and is then looked at
 * again: somebody may have removed what was in the way.
 */
export class CorruptLogs {
  readonly #runtime: Runtime;
  readonly #events: PumpEventSink;
  readonly #rests = new Map<ShardRunner, Rest>();

  constructor(runtime: Runtime, events: PumpEventSink) {
    this.#runtime = runtime;
    this.#events = events;
  }

  isResting(runner: ShardRunner): boolean {
    return this.#rests.size > 0 && this.#rests.get(runner)?.timer !== undefined;
  }

  /** Reports the log and calls `again` after a pause, unless the runner is {@link forget | forgotten} before. */
  report(runner: ShardRunner, detail: string, again: () => void): void {
    const { shard, lease } = runner;
    const rest = this.#rests.get(runner) ?? {
      backoff: new Backoff(this.#runtime, retry),
      timer: undefined,
    };
    this.#rests.set(runner, rest);
    const retryInMs = rest.backoff.nextMs();
    rest.timer?.cancel();
    rest.timer = this.#runtime.setTimer(retryInMs, () => {
      rest.timer = undefined;
      again();
    });
    this.#events.emit('logCorrupt', { shard, lease, detail, retryInMs });
  }

  /** Its log is in order again, or no longer ours to look at. */
  forget(runner: ShardRunner): void {
    this.#rests.get(runner)?.timer?.cancel();
    this.#rests.delete(runner);
  }
}
