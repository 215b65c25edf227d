import { Backoff, type Runtime, sleep } from '../../time/index.js';
import type { StreamStore } from '../contract.js';
import type { CorruptLogs } from './corrupt-logs.js';
import type { PumpEventSink } from './events.js';
import type { ShardRunner } from './runner.js';

export interface InstallerOptions {
  readonly runtime: Runtime;
  readonly store: StreamStore;
  readonly events: PumpEventSink;
  readonly corruptLogs: CorruptLogs;
  readonly callTimeoutMs: number;
  /** Makes sure that the store counts the topic's shards as we do, or throws. */
  readonly agree: () => Promise<void>;
}

export interface InstallOutcomes {
  /** The log obeys the runner's term. */
  readonly installed: (runner: ShardRunner) => void;
  /** The log obeys somebody else. */
  readonly refused: (runner: ShardRunner, installedTerm: number | undefined) => void;
}

/** Makes logs obey the terms of their runners. */
export class Installer {
  readonly #options: InstallerOptions;

  constructor(options: InstallerOptions) {
    this.#options = options;
  }

  /**
   * Installs all of them in one request. One whose log is not ours is reported and tried again later, alone.
   *
   * @throws the errors of the store, and `OptionError` if it knows the topic with another shard count.
   */
  async install(runners: readonly ShardRunner[], outcomes: InstallOutcomes): Promise<void> {
    if (runners.length === 0) return;
    const { store, corruptLogs, callTimeoutMs: timeoutMs, agree } = this.#options;
    await agree();
    const requests = runners.map(({ shard, lease }) => ({ shard, token: lease }));
    const results = await store.install(requests, { timeoutMs });
    for (const [index, runner] of runners.entries()) {
      const result = results[index];
      if (!runner.isAlive) continue;
      if (result?.outcome === 'corrupt') {
        const again = () => void this.insist([runner], outcomes);
        corruptLogs.report(runner, result.detail, again);
        continue;
      }
      corruptLogs.forget(runner);
      if (result?.outcome === 'installed') outcomes.installed(runner);
      else outcomes.refused(runner, result?.installedTerm);
    }
  }

  /** As {@link install}, again and again until the store answers or none of them is wanted any more. */
  async insist(runners: readonly ShardRunner[], outcomes: InstallOutcomes): Promise<void> {
    const { runtime, events } = this.#options;
    const backoff = new Backoff(runtime, { firstMs: 100, limitMs: 5_000 });
    for (;;) {
      const alive = runners.filter((runner) => runner.isAlive);
      const [first] = alive;
      if (first === undefined) return;
      try {
        return await this.install(alive, outcomes);
      } catch (error) {
        const retryInMs = backoff.nextMs();
        events.emit('storeFailed', { operation: 'install', error, retryInMs });
        await sleep(runtime, retryInMs, first.lease.signal);
      }
    }
  }
}
