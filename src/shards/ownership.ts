import { RecordCorruptError, StaleTermError } from '../errors/index.js';
import type { Emitter } from '../events/index.js';
import type { AcquireOutcome, EndReason, Lease } from '../leases/index.js';
import { type Runtime, sleep } from '../time/index.js';
import type { ShardWorkerEvents } from './events.js';
import type { Fleet } from './fleet.js';
import { Giver, type SuccessorOf } from './giver.js';
import { type Holding, Holdings } from './holdings.js';
import type { ResolvedShardWorkerOptions } from './options.js';
import { Readiness } from './readiness.js';
import { Refusals } from './refusals.js';
import { Takeovers } from './takeovers.js';
import { type OwnedShard, type RefusedShard, shardLeaseName } from './work.js';

export interface OwnershipContext {
  readonly options: ResolvedShardWorkerOptions;
  readonly emitter: Emitter<ShardWorkerEvents>;
  readonly successorOf: SuccessorOf;
  /** Resolves when the others can know that this worker takes nothing for now. */
  readonly tellUnready: () => Promise<void>;
  /** The plan may have become wrong. */
  readonly wake: () => void;
}

/** Carries a plan out: claims, begins, drains and gives back, and tells what happened. */
export class Ownership {
  readonly readiness: Readiness;
  readonly #context: OwnershipContext;
  readonly #holdings: Holdings;
  readonly #giver: Giver;
  readonly #takeovers: Takeovers;
  readonly #refusals: Refusals;

  constructor(context: OwnershipContext) {
    const { leases, work, reserveMs } = context.options;
    this.#context = context;
    this.readiness = new Readiness(leases.runtime);
    this.#takeovers = new Takeovers(leases.runtime);
    this.#refusals = new Refusals(leases.runtime);
    this.#holdings = new Holdings({
      work,
      onDrained: (holding) => this.#giver.give(holding),
      onBegun: (holdings) => this.#begun(holdings),
      onRefused: (refused) => this.#refused(refused),
      onBeginFailed: (holdings, error) => this.#beginFailed(holdings, error),
      onDrainFailed: (holding, error) => this.#drainFailed(holding, error),
      onDropFailed: (_holding, error) => context.emitter.emit('error', { error, during: 'drop' }),
    });
    this.#giver = new Giver({
      leases,
      reserveMs,
      successorOf: context.successorOf,
      keep: (holding) => this.#keep(holding),
      letGo: (holding) => holding.lease.endReason === undefined && this.#holdings.remove(holding),
      onHandedOff: (holding, to, isConfirmed) => this.#handedOff(holding, to, isConfirmed),
      onReleased: (holding) => this.#released(holding, 'no-successor'),
    });
  }

  get shards(): Holding[] {
    // Asking a lease makes it notice that its deadline has passed, even if no timer has fired since a freeze.
    return this.#holdings.all.filter(({ lease }) => lease.endReason === undefined);
  }

  /** Whether it may be claimed: not what is owned, nor what waits after it was refused. */
  mayClaim(shard: number): boolean {
    return this.#holdings.get(shard) === undefined && !this.#refusals.isPaused(shard);
  }

  /** Milliseconds until a shard may be claimed that was refused; infinite if there is none. */
  get refusalPauseMs(): number {
    return this.#refusals.pauseMs;
  }

  /** Whether a wake only tells us what we did ourselves. */
  isEcho(name: string): boolean {
    return this.#giver.isEcho(name);
  }

  /** What the store shows now: a lease of ours that it gave to somebody else is over, one we gave back is not ours. */
  async observe(fleet: Fleet): Promise<void> {
    const { holder } = this.#context.options.leases;
    for (const { shard, record } of fleet.shards) {
      if (record?.state !== 'held' || record.holder.equals(holder)) continue;
      this.#refusals.othersTerm(shard, record.term);
      const lease = this.#holdings.get(shard)?.lease;
      if (lease !== undefined && record.term > lease.term) lease.supersede();
    }
    this.#takeovers.observe(fleet);
    await this.#giver.reconcile(fleet);
  }

  /**
   * Claims shards in one request and begins the work on those that were granted; or, if they are only to pass through,
   * gives them on. Those that were refused before are claimed each by itself, above the term that was in the way.
   * `false` if some were not granted, so that what was known of the fleet is out of date.
   *
   * @throws as `Leases.acquireMany`.
   */
  async claim(shards: readonly number[], options: { readonly passOn: boolean }): Promise<boolean> {
    const usual = shards.filter((shard) => this.#refusals.above(shard) === undefined);
    const refused = shards.filter((shard) => this.#refusals.above(shard) !== undefined);
    let grantedCount = 0;
    if (usual.length > 0) {
      const granted = await this.#acquire(usual);
      this.#take(granted, options.passOn);
      grantedCount += granted.length;
    }
    if (refused.length > 0) {
      // Not in one request: each goes above a term of its own.
      const granted = (await Promise.all(refused.map((shard) => this.#acquireAbove(shard)))).flat();
      this.#take(granted, options.passOn);
      grantedCount += granted.length;
    }
    return grantedCount === shards.length;
  }

  /** Ends the work on these shards; each goes to whom the plan names when it is drained. Answers how many are new. */
  drain(holdings: readonly Holding[]): number {
    return holdings.filter((holding) => this.#holdings.drain(holding)).length;
  }

  /** Gives everything away, aborting what takes too long. Afterwards nothing is held. */
  async drainAll(): Promise<void> {
    const { leases, drainTimeoutMs, abortGraceMs } = this.#context.options;
    this.drain(this.#holdings.all);
    await within(leases.runtime, drainTimeoutMs, this.#holdings.whenEmpty());
    for (const { lease } of this.#holdings.all) lease.end('shutdown');
    await within(leases.runtime, abortGraceMs, this.#holdings.whenStopped());
    await this.#giver.whenIdle();
  }

  /** One of the process's leases has ended, by whosever doing. */
  leaseEnded(lease: Lease, reason: EndReason): void {
    const holding = this.#holdings.lost(lease);
    if (holding === undefined) return;
    const { shard } = holding;
    // A fence has refused it, which may be all that anybody will ever say of the term in the way.
    if (lease.installedTerm !== undefined) this.#countRefusal(shard, lease, lease.installedTerm);
    this.#context.emitter.emit('lost', { shard, term: lease.term, reason });
    this.#context.wake();
  }

  async #acquire(shards: readonly number[], above?: number): Promise<OwnedShard[]> {
    const { leases, group } = this.#context.options;
    const names = shards.map((shard) => shardLeaseName(group, shard));
    const outcomes = await leases.acquireMany(names, above === undefined ? {} : { above });
    return shards.flatMap((shard, index) => this.#granted(shard, outcomes[index]));
  }

  /** Never rejects: what cannot be had this way must not keep the other shards waiting. */
  async #acquireAbove(shard: number): Promise<OwnedShard[]> {
    const above = this.#refusals.above(shard) ?? 0;
    try {
      const granted = await this.#acquire([shard], above);
      for (const { lease } of granted)
        this.#context.emitter.emit('termHealed', { shard, above, term: lease.term });
      if (granted.length === 0) this.#refusals.failed(shard);
      return granted;
    } catch (error) {
      this.#refusals.failed(shard);
      this.#context.emitter.emit('error', { error, during: 'claim' });
      return [];
    }
  }

  #take(granted: readonly OwnedShard[], passOn: boolean): void {
    const alive = granted.filter(({ lease }) => lease.endReason === undefined);
    if (passOn) this.#holdings.pass(alive);
    else this.#begin(alive);
    if (alive.length > 0) this.#tellClaimed(alive);
  }

  #granted(shard: number, outcome: AcquireOutcome | undefined): OwnedShard[] {
    if (outcome?.outcome === 'granted') return [{ shard, lease: outcome.lease }];
    if (outcome?.outcome === 'failed')
      this.#context.emitter.emit('error', { error: outcome.error, during: 'claim' });
    return [];
  }

  #begun(holdings: readonly Holding[]): void {
    this.readiness.begun();
    for (const { shard } of holdings) this.#refusals.begun(shard);
  }

  /**
   * The term is too low for the resource, whatever the store says. No work has begun, so the name is given back at
   * once: to the newer owner, or to a lease of ours with a higher term.
   */
  #refused({ shard: { shard, lease }, installedTerm }: RefusedShard): void {
    // Else it was counted when the fence ended it.
    if (lease.installedTerm === undefined) this.#countRefusal(shard, lease, installedTerm);
    lease.supersede();
    void lease.release();
  }

  #countRefusal(shard: number, { name, term }: Lease, installedTerm: number): void {
    if (this.#refusals.refused(shard, installedTerm)) return;
    const why = `the resource of shard ${shard} refused term ${term} of "${name}" because of term ${installedTerm}, which no store grants: what is installed there is not a term. Correct it there; until then the shard is tried now and then.`;
    const error = new RecordCorruptError(why, new StaleTermError(name, term, installedTerm));
    this.#context.emitter.emit('error', { error, during: 'begin' });
  }

  #keep(holding: Holding): void {
    const { shard, lease } = holding;
    if (lease.endReason !== undefined || this.#holdings.get(shard) !== holding) return;
    this.#holdings.begin([holding]);
  }

  #begin(shards: readonly OwnedShard[]): void {
    if (this.readiness.isCareful) for (const owned of shards) this.#holdings.begin([owned]);
    else this.#holdings.begin(shards);
  }

  #tellClaimed(shards: readonly OwnedShard[]): void {
    const { emitter } = this.#context;
    emitter.emit('claimed', { shards });
    for (const { shard, lease } of shards) {
      const takeover = this.#takeovers.claimed(shard);
      if (takeover !== undefined)
        emitter.emit('takenOver', { shard, term: lease.term, ...takeover });
    }
  }

  async #beginFailed(holdings: readonly Holding[], error: unknown): Promise<void> {
    this.readiness.beginFailed();
    this.#context.emitter.emit('error', { error, during: 'begin' });
    // Before they are free: the release wakes the others, who would leave these shards to us if they did not know.
    await this.#context.tellUnready();
    this.#context.wake();
    await this.#context.options.leases.releaseMany(holdings.map(({ lease }) => lease));
    for (const holding of holdings) this.#released(holding, 'begin-failed');
  }

  /** Its work may still be running, so the rest of the ttl is left to it. */
  #drainFailed(holding: Holding, error: unknown): void {
    this.#context.emitter.emit('error', { error, during: 'drain' });
    holding.lease.end('revoked');
  }

  #handedOff(holding: Holding, to: string, isConfirmed: boolean): void {
    const { shard, lease } = holding;
    if (isConfirmed) this.#context.emitter.emit('handedOff', { shard, term: lease.term, to });
    else this.#released(holding, 'handoff-unconfirmed');
  }

  #released({ shard, lease }: Holding, why: ShardWorkerEvents['released']['why']): void {
    this.#context.emitter.emit('released', { shard, term: lease.term, why });
  }
}

async function within(runtime: Runtime, limitMs: number, promise: Promise<void>): Promise<void> {
  const over = new AbortController();
  await Promise.race([promise, sleep(runtime, limitMs, over.signal)]);
  over.abort();
}
