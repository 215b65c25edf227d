import { elapsedMs, type Instant, type Runtime, type Timer } from '../../time/index.js';
import type { PumpEventSink } from './events.js';
import type { Pump } from './pump.js';
import type { ShardRunner } from './runner.js';

export interface PatrolOptions {
  readonly runtime: Runtime;
  readonly events: PumpEventSink;
  readonly pump: Pump;
  /** About this often idle shards are looked at: each pause is drawn from 75 % to 125 % of it. */
  readonly everyMs: number;
  readonly stalledAfterMs: number;
}

/** What a shard was doing when it was last seen to move. */
interface Sighting {
  readonly finishedCount: number;
  readonly since: Instant;
  alarmCount: number;
}

/**
 * Looks at all shards every few seconds: reads for the idle ones, since the bell that wakes them is only a hint, and
 * raises the alarm for one that has a message at its head and finishes none.
 */
export class Patrol {
  readonly #options: PatrolOptions;
  readonly #sightings = new Map<ShardRunner, Sighting>();
  #timer: Timer | undefined;

  constructor(options: PatrolOptions) {
    this.#options = options;
    this.#schedule();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#sightings.clear();
  }

  #schedule(): void {
    const { runtime, everyMs } = this.#options;
    this.#timer = runtime.setTimer(everyMs * (0.75 + runtime.random() / 2), () => {
      this.#sweep();
      this.#schedule();
    });
  }

  #sweep(): void {
    const { pump, runtime } = this.#options;
    const now = runtime.now();
    for (const runner of this.#sightings.keys()) {
      if (!pump.runners.has(runner)) this.#sightings.delete(runner);
    }
    for (const runner of pump.runners) {
      if (runner.current === undefined && runner.intake.count === 0) {
        this.#sightings.delete(runner);
        runner.intake.ring();
        pump.due(runner);
      } else {
        this.#look(runner, now);
      }
    }
  }

  #look(runner: ShardRunner, now: Instant): void {
    const { finishedCount } = runner;
    const sighting = this.#sightings.get(runner);
    if (sighting?.finishedCount !== finishedCount) {
      this.#sightings.set(runner, { finishedCount, since: now, alarmCount: 0 });
      return;
    }
    const stuckMs = elapsedMs(sighting.since, now);
    if (stuckMs < this.#options.stalledAfterMs * (sighting.alarmCount + 1)) return;
    sighting.alarmCount += 1;
    const head = runner.current;
    if (head !== undefined) this.#options.events.emit('shardStalled', { ...head, stuckMs });
  }
}
