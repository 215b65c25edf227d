import { ClosedError, isTransient } from '../errors/index.js';
import { Emitter, type EventSource, type Unsubscribe } from '../events/index.js';
import { OutageWarning, type OutageWarningOptions } from '../leases/outage-warning.js';
import { WorkWarning } from '../leases/work-warning.js';
import { type FailedStep, type ShardWorkerEvents, shardWorkerEventNames } from './events.js';
import {
  type ResolvedShardWorkerOptions,
  resolveShardWorkerOptions,
  type ShardWorkerOptions,
} from './options.js';
import { Run } from './run.js';
import type { OwnedShard } from './work.js';

/** A shard that this process owns now. */
export interface ShardOwnership extends OwnedShard {
  readonly term: number;
}

/** What follows when the work of the user has failed; the other steps are not the user's. */
const whatFollows: Partial<Record<FailedStep, string>> = {
  begin: 'is begun again after a pause',
  drain: 'its lease was ended',
  drop: 'may still be running',
};

/** @internal Where users hear of the failures of a worker that they know only through another one. */
export type HeardElsewhere = Pick<OutageWarningOptions, 'listen' | 'isHeard'>;

/**
 * One process of a fleet that shares a fixed set of shards, each owned by one process at a time.
 *
 * It registers as a member of its group, claims its fair share, renews it, and moves as little as possible when others
 * come and go: what it owns too much of is drained and handed to the successor by name, without waiting for a ttl. What
 * a crashed member owned is taken when the store lets it expire.
 *
 * Owning a shard is not mutual exclusion by itself: a frozen process may believe for a moment after it wakes. Take the
 * lease's `term` along on every write, and let a fence refuse the stale one.
 *
 * No error of the store ends a worker: it reports an `error` event, keeps what its leases still cover and tries again.
 */
export class ShardWorker implements AsyncDisposable {
  readonly #options: ResolvedShardWorkerOptions;
  readonly #emitter = new Emitter<ShardWorkerEvents>(shardWorkerEventNames);
  #run: Run | undefined;
  #starting: Promise<void> | undefined;
  #generation = 0;

  /** Connects to nothing. @throws {OptionError} */
  constructor(options: ShardWorkerOptions);
  /** @internal */
  constructor(options: ShardWorkerOptions, elsewhere: HeardElsewhere);
  constructor(options: ShardWorkerOptions, elsewhere?: HeardElsewhere) {
    this.#options = resolveShardWorkerOptions(options);
    this.#warn(elsewhere);
  }

  get events(): EventSource<ShardWorkerEvents> {
    return this.#emitter;
  }

  /** @internal As `events.on`, for who is no reason to be silent towards a user. */
  overhear<Name extends keyof ShardWorkerEvents>(
    name: Name,
    listener: (event: ShardWorkerEvents[Name]) => void,
  ): Unsubscribe {
    return this.#emitter.overhear(name, listener);
  }

  /** The name that its fleet shares. */
  get group(): string {
    return this.#options.group;
  }

  get shardCount(): number {
    return this.#options.shardCount;
  }

  /** The id of this member: that of its `leases`. */
  get id(): string {
    return this.#options.leases.holder.id;
  }

  /** The shards whose leases have not ended, by the clock; those being drained are among them. In order of number. */
  get owned(): ShardOwnership[] {
    const shards = this.#run?.ownership.shards ?? [];
    return shards
      .map(({ shard, lease }) => ({ shard, lease, term: lease.term }))
      .sort((a, b) => a.shard - b.shard);
  }

  /**
   * Resolves when this process is registered and has claimed for the first time. While the store cannot be reached it
   * keeps trying, with an `error` event for each failure. Repeating it returns the same promise; after `stop` it starts
   * anew, as soon as the stop is over.
   *
   * @throws {MemberIdTakenError} if another live process has this id: known after two ttl at most.
   * @throws {OptionError} if a live member of the group uses another shard count.
   * @throws {StoreMisconfiguredError} if the store cannot keep what leases promise.
   * @throws {ClosedError} if it was stopped meanwhile, or the leases are closed.
   */
  start(): Promise<void> {
    if (this.#starting === undefined) {
      this.#generation += 1;
      this.#starting = this.#start(this.#generation);
    }
    return this.#starting;
  }

  /**
   * Drains every shard, hands each to its successor and leaves the group. Work that does not end in time is aborted;
   * what does not stop even then keeps its lease until it expires. Never rejects; safe to call at any time and twice.
   */
  stop(): Promise<void> {
    this.#generation += 1;
    this.#starting = undefined;
    return this.#run?.stop() ?? Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #warn(elsewhere: HeardElsewhere | undefined): void {
    const { leases, group } = this.#options;
    const emitter = this.#emitter;
    const listen = elsewhere?.listen ?? "worker.events.on('error', ...)";
    const isHeard = () => emitter.listenerCount('error') > 0 || elsewhere?.isHeard() === true;
    const who = `the worker of the group "${group}"`;
    const outageWarning = new OutageWarning(leases, { who, listen, isHeard });
    const workWarning = new WorkWarning({
      ...{ code: 'TENURE_WORK_FAILED', listen },
      who: `the work on shards of the group "${group}"`,
    });
    emitter.overhear('error', ({ error, during }) => {
      if (during === 'register' && isTransient(error))
        outageWarning.failed(error, leases.timing.renewEveryMs);
      const next = whatFollows[during];
      if (next === undefined || isHeard()) return;
      // Of work that is not the user's own, a store that is away for a moment is no news.
      if (elsewhere !== undefined && isTransient(error)) return;
      workWarning.failed(error, next);
    });
  }

  async #start(generation: number): Promise<void> {
    await this.#run?.stop();
    if (generation !== this.#generation) throw new ClosedError('this start of the shard worker');
    const run = new Run(this.#options, this.#emitter);
    this.#run = run;
    try {
      await run.start();
    } catch (error) {
      if (generation === this.#generation) this.#starting = undefined;
      throw error;
    }
  }
}
