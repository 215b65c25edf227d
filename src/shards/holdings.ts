import type { Lease } from '../leases/index.js';
import type { OwnedShard, RefusedShard, ShardWork } from './work.js';

/** `drained`: its work has ended, and it is about to be given back. */
export type HoldingPhase = 'beginning' | 'working' | 'draining' | 'drained';

/** A shard that this process owns, and how far the work on it is. */
export interface Holding extends OwnedShard {
  phase: HoldingPhase;
  /** It is to be drained as soon as its work has begun. */
  isUnwanted: boolean;
}

export interface HoldingsOptions {
  readonly work: ShardWork;
  /** The work on it has ended by request; the lease is alive. */
  readonly onDrained: (holding: Holding) => void;
  /** `begin` rejected; these are no longer held. Their leases are alive. Must not reject. */
  readonly onBeginFailed: (holdings: readonly Holding[], error: unknown) => Promise<void>;
  readonly onBegun: (holdings: readonly Holding[]) => void;
  /** The work on it cannot begin under this lease. It is still held; end the lease. */
  readonly onRefused: (refused: RefusedShard) => void;
  /** `drain` rejected: whether the work has stopped is not known. */
  readonly onDrainFailed: (holding: Holding, error: unknown) => void;
  readonly onDropFailed: (holding: Holding, error: unknown) => void;
}

/** The shards this process owns and the work on them, from `begin` to `drain` or `drop`. */
export class Holdings {
  readonly #options: HoldingsOptions;
  readonly #byShard = new Map<number, Holding>();
  readonly #byLease = new Map<Lease, Holding>();
  readonly #underway = new Set<Promise<void>>();
  #onEmpty: (() => void)[] = [];

  constructor(options: HoldingsOptions) {
    this.#options = options;
  }

  get all(): Holding[] {
    return [...this.#byShard.values()];
  }

  get(shard: number): Holding | undefined {
    return this.#byShard.get(shard);
  }

  /**
   * Holds the shards from now on, and begins the work on all of them in one call when the caller has finished. Those
   * whose lease has ended are left out: nobody would ever say again that it has.
   */
  begin(shards: readonly OwnedShard[]): void {
    const alive = shards.filter(({ lease }) => lease.endReason === undefined);
    if (alive.length === 0) return;
    this.#track(this.#begin(alive.map((owned) => this.#add(owned, 'beginning'))));
  }

  /** Holds shards without working on them: they only pass through. */
  pass(shards: readonly OwnedShard[]): void {
    const alive = shards.filter(({ lease }) => lease.endReason === undefined);
    for (const owned of alive) this.#options.onDrained(this.#add(owned, 'drained'));
  }

  /** Ends the work on a shard; `false` if that is under way already. */
  drain(holding: Holding): boolean {
    if (holding.isUnwanted) return false;
    holding.isUnwanted = true;
    if (holding.phase === 'working') this.#track(this.#drain(holding));
    return true;
  }

  /** Forgets a shard, whose lease is about to end or has ended. `false` if it was not held. */
  remove(holding: Holding): boolean {
    if (this.#byShard.get(holding.shard) !== holding) return false;
    this.#byShard.delete(holding.shard);
    this.#byLease.delete(holding.lease);
    if (this.#byShard.size === 0) for (const resolve of this.#onEmpty.splice(0)) resolve();
    return true;
  }

  /** The lease has ended by itself: the work is dropped. `undefined` if the lease is none of a held shard. */
  lost(lease: Lease): Holding | undefined {
    const holding = this.#byLease.get(lease);
    if (holding === undefined || !this.remove(holding)) return undefined;
    try {
      this.#options.work.drop(holding);
    } catch (error) {
      this.#options.onDropFailed(holding, error);
    }
    return holding;
  }

  /** Resolves when nothing is held. */
  whenEmpty(): Promise<void> {
    if (this.#byShard.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onEmpty.push(resolve);
    });
  }

  /** Resolves when all work that was begun or asked to end has answered. */
  async whenStopped(): Promise<void> {
    while (this.#underway.size > 0) await Promise.all(this.#underway);
  }

  #add({ shard, lease }: OwnedShard, phase: 'beginning' | 'drained'): Holding {
    const holding: Holding = { shard, lease, phase, isUnwanted: phase === 'drained' };
    this.#byShard.set(shard, holding);
    this.#byLease.set(lease, holding);
    return holding;
  }

  async #begin(claimed: readonly Holding[]): Promise<void> {
    await Promise.resolve();
    const holdings = claimed.filter((holding) => this.#byShard.get(holding.shard) === holding);
    if (holdings.length === 0) return;
    const refused = new Map<Lease, RefusedShard>();
    try {
      const answer = await this.#options.work.begin(holdings);
      if (Array.isArray(answer)) for (const one of answer) refused.set(one.shard.lease, one);
    } catch (error) {
      for (const { lease } of holdings) if (lease.endReason !== undefined) void lease.release();
      const held = holdings.filter((holding) => this.remove(holding));
      return this.#options.onBeginFailed(held, error);
    }
    for (const one of refused.values()) this.#options.onRefused(one);
    const begun = holdings.filter(({ lease }) => !refused.has(lease));
    if (begun.length > 0) this.#options.onBegun(begun);
    for (const holding of begun) {
      holding.phase = 'working';
      if (holding.isUnwanted) this.#track(this.#drain(holding));
    }
  }

  async #drain(holding: Holding): Promise<void> {
    if (this.#byShard.get(holding.shard) !== holding) return;
    holding.phase = 'draining';
    try {
      await this.#options.work.drain(holding);
    } catch (error) {
      this.#options.onDrainFailed(holding, error);
      return;
    }
    holding.phase = 'drained';
    if (this.#byShard.get(holding.shard) === holding) this.#options.onDrained(holding);
    // The lease was lost meanwhile, and now its work has really stopped: the store need not wait for the expiry.
    else void holding.lease.release();
  }

  #track(work: Promise<void>): void {
    this.#underway.add(work);
    void work.finally(() => this.#underway.delete(work));
  }
}
