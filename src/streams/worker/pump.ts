import { OutcomeUnknownError } from '../../errors/index.js';
import { Backoff, type Runtime } from '../../time/index.js';
import type { StepRequest, StepResult, StoredMessage, StreamStore } from '../contract.js';
import type { CorruptLogs } from './corrupt-logs.js';
import type { PumpEventSink } from './events.js';
import type { HandlerTimes } from './handler-times.js';
import { Pause } from './pause.js';
import type { Redeliveries } from './redeliveries.js';
import type { ShardRunner } from './runner.js';

export interface PumpOptions {
  readonly runtime: Runtime;
  readonly store: StreamStore;
  readonly events: PumpEventSink;
  readonly corruptLogs: CorruptLogs;
  readonly times: HandlerTimes;
  readonly redeliveries: Redeliveries;
  readonly callTimeoutMs: number;
  /** The most messages that wait in memory, over all shards. */
  readonly maxBufferedCount: number;
  /** The logs of these shards obey no term any more: they were removed, and can be added again once they do. */
  readonly reinstall: (runners: readonly ShardRunner[]) => void;
  /** The log of this shard obeys somebody else. */
  readonly refuse: (runner: ShardRunner, installedTerm: number | undefined) => void;
}

/** The most messages one request reads, so that a store is not blocked by one answer. */
const largestReadCount = 2_048;
/** While acknowledgements keep coming within so many turns of the microtask queue, they travel together. */
const gatherTurns = 4;
/** So many are enough for one request: what is gathered longer only waits longer. */
const gatheredEnough = 512;

interface PlannedStep {
  readonly runner: ShardRunner;
  readonly request: StepRequest;
}

/**
 * Moves messages and acknowledgements between the log and the runners of one worker.
 *
 * One request is under way at a time, for all shards that have something to send or room to fill; what comes up
 * meanwhile travels with the next (group commit). Nothing is sent while there is nothing to do.
 */
export class Pump {
  readonly #options: PumpOptions;
  readonly #backoff: Backoff;
  readonly #retry: Pause;
  readonly #runners = new Set<ShardRunner>();
  readonly #due = new Set<ShardRunner>();
  /** Shards whose log was reset and has not answered since: a second reset in a row is not ours to mend. */
  readonly #reset = new Set<ShardRunner>();
  #isRunning = false;
  /** The most messages the next request reads: fewer after requests that had no answer in time. */
  #readCount = largestReadCount;

  constructor(options: PumpOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.runtime, { firstMs: 100, limitMs: 5_000 });
    this.#retry = new Pause(options.runtime);
  }

  get runners(): ReadonlySet<ShardRunner> {
    return this.#runners;
  }

  /** The runner's term is installed in its log: read for it from now on. */
  add(runner: ShardRunner): void {
    this.#runners.add(runner);
    this.due(runner);
  }

  /** As {@link add}, after its log had lost its state: if that happens again at once, the shard is given up. */
  addReset(runner: ShardRunner): void {
    this.#reset.add(runner);
    this.add(runner);
  }

  remove(runner: ShardRunner): void {
    this.#runners.delete(runner);
    this.#due.delete(runner);
    this.#reset.delete(runner);
    this.#options.corruptLogs.forget(runner);
    if (this.#runners.size === 0) this.#retry.end();
  }

  /** Something is to be sent for it, or may be read. */
  due(runner: ShardRunner): void {
    if (!this.#runners.has(runner) || this.#isResting(runner)) return;
    this.#due.add(runner);
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    while (this.#due.size > 0) {
      await this.#gather();
      const steps = this.#plan();
      if (steps.length === 0) continue;
      try {
        const requests = steps.map(({ request }) => request);
        const { store, callTimeoutMs: timeoutMs } = this.#options;
        this.#settle(steps, await store.step(requests, { timeoutMs }));
        this.#backoff.reset();
        this.#readCount = Math.min(largestReadCount, this.#readCount * 2);
      } catch (error) {
        await this.#failed(steps, error);
      }
    }
    this.#isRunning = false;
  }

  /** A handler that needs nothing but the processor ends in a few turns: waiting for it makes one request of many. */
  async #gather(): Promise<void> {
    let count = -1;
    for (let next = this.#waitingCount(); next !== count && next < gatheredEnough; ) {
      count = next;
      for (let turn = 0; turn < gatherTurns; turn++) await undefined;
      next = this.#waitingCount();
    }
  }

  #waitingCount(): number {
    let count = 0;
    for (const runner of this.#due) count += runner.acknowledgements.waitingCount;
    return count;
  }

  #plan(): PlannedStep[] {
    const alive = [...this.#due].filter((runner) => runner.isAlive && !this.#isResting(runner));
    this.#due.clear();
    const readers = alive.filter((runner) => runner.isOpen && runner.intake.roomCount > 0);
    const shareCount = this.#readShare(readers.length);
    const steps: PlannedStep[] = [];
    let leftCount = this.#readCount;
    for (const runner of alive) {
      // With nothing in hand the oldest unfinished message is the next one. Its position may be below those seen before:
      // a log that lost its last messages while its clock was set back gives out lower ones.
      const after = runner.hasNothing ? undefined : runner.intake.after;
      const acknowledge = runner.acknowledgements.take();
      const wantedCount = readLimit(runner, shareCount);
      const limit = Math.min(wantedCount, leftCount);
      leftCount -= limit;
      // It reads with the next request.
      if (limit < wantedCount) this.#due.add(runner);
      // The bell rings only when an empty log is filled, so whoever empties it has to look behind what it removed.
      if (acknowledge.length === 0 && (limit === 0 || !runner.intake.isHungry)) continue;
      if (limit > 0) runner.intake.asked();
      const { shard, lease } = runner;
      const request = { shard, token: lease, acknowledge, after, limit };
      steps.push({ runner, request });
    }
    return steps;
  }

  /** How many messages each shard that wants some may get. One that has none in memory always gets some. */
  #readShare(readerCount: number): number {
    if (readerCount === 0) return 0;
    let bufferedCount = 0;
    for (const runner of this.#runners) bufferedCount += runner.intake.count;
    const freeCount = Math.min(this.#readCount, this.#options.maxBufferedCount - bufferedCount);
    return Math.max(0, Math.floor(freeCount / readerCount));
  }

  #settle(steps: readonly PlannedStep[], results: readonly StepResult[]): void {
    let messageCount = 0;
    let shardCount = 0;
    const forgotten: ShardRunner[] = [];
    for (const [index, { runner, request }] of steps.entries()) {
      const result = results[index];
      // It may have been dropped meanwhile; nothing of it concerns us any more.
      if (!this.#runners.has(runner)) continue;
      if (result?.outcome === 'ok') {
        this.#accept(runner, request, result.messages);
        messageCount += request.acknowledge.length;
        if (request.acknowledge.length > 0) shardCount += 1;
      } else if (result?.outcome === 'corrupt') {
        this.#corrupt(runner, result.detail);
      } else if (result?.installedTerm === undefined && !this.#reset.has(runner)) {
        forgotten.push(runner);
      } else {
        this.#options.refuse(runner, result?.installedTerm);
      }
    }
    if (messageCount > 0) {
      this.#options.times.tell();
      this.#options.events.emit('handled', { messageCount, shardCount });
    }
    if (forgotten.length > 0) this.#forgotten(forgotten);
  }

  #accept(runner: ShardRunner, request: StepRequest, messages: readonly StoredMessage[]): void {
    if (this.#reset.size > 0) this.#reset.delete(runner);
    runner.acknowledgements.confirm();
    this.#options.corruptLogs.forget(runner);
    if (runner.isOpen && request.limit > 0) {
      this.#options.redeliveries.read(runner, messages);
      runner.intake.accept(messages, request.limit);
    }
    runner.proceed();
    runner.settle();
    if (runner.isOpen && runner.intake.isHungry) this.due(runner);
  }

  /** A shard that is to be given back does not rest: it says once more what it has finished. */
  #isResting(runner: ShardRunner): boolean {
    return runner.isOpen && this.#options.corruptLogs.isResting(runner);
  }

  #corrupt(runner: ShardRunner, detail: string): void {
    this.#options.corruptLogs.report(runner, detail, () => this.due(runner));
    runner.acknowledgements.restore();
    runner.intake.ring();
    if (runner.isOpen) return;
    // The next owner would have to wait for a log that may stay like that: it gets these messages again instead.
    runner.acknowledgements.clear();
    runner.settle();
  }

  #forgotten(runners: readonly ShardRunner[]): void {
    for (const runner of runners) {
      runner.acknowledgements.restore();
      this.remove(runner);
    }
    this.#options.reinstall(runners);
  }

  async #failed(steps: readonly PlannedStep[], error: unknown): Promise<void> {
    for (const { runner } of steps) {
      if (!this.#runners.has(runner)) continue;
      runner.acknowledgements.restore();
      runner.intake.ring();
      this.#due.add(runner);
    }
    // The answer may have been too large for the time it had.
    if (error instanceof OutcomeUnknownError) this.#readCount = Math.ceil(this.#readCount / 2);
    const retryInMs = this.#backoff.nextMs();
    this.#options.events.emit('storeFailed', { operation: 'step', error, retryInMs });
    if (this.#runners.size > 0) await this.#retry.begin('retry', retryInMs);
  }
}

function readLimit({ isOpen, intake }: ShardRunner, shareCount: number): number {
  if (!isOpen) return 0;
  return Math.min(intake.roomCount, intake.count === 0 ? Math.max(1, shareCount) : shareCount);
}
