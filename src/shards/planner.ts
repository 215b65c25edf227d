import type { Emitter } from '../events/index.js';
import { type BalancePlan, balance } from './balance.js';
import type { FailedStep, ShardWorkerEvents } from './events.js';
import type { Fleet } from './fleet.js';
import type { Holding } from './holdings.js';
import { Lookout } from './lookout.js';
import type { Membership } from './membership.js';
import type { ResolvedShardWorkerOptions } from './options.js';
import { Ownership } from './ownership.js';
import { ShardRange, shardsNamed } from './shard-range.js';

/** After a lost race for a shard the fleet is looked at again within 100 to 200 ms. */
const afterConflictMs = 100;
/** After an expiry, so that not all who saw it coming ask in one moment: 5 to 25 ms. */
const afterExpiryMs = 5;
const expirySpreadMs = 20;

/** Makes a plan of each look at the fleet, and has this process do its part: drain, hand off, claim. */
export class Planner {
  readonly ownership: Ownership;
  readonly #options: ResolvedShardWorkerOptions;
  readonly #emitter: Emitter<ShardWorkerEvents>;
  readonly #membership: Membership;
  readonly #lookout: Lookout;
  readonly #range: ShardRange;
  #targets: ReadonlyMap<number, string> = new Map();
  #step: FailedStep = 'plan';
  #isLeaving = false;

  constructor(
    options: ResolvedShardWorkerOptions,
    emitter: Emitter<ShardWorkerEvents>,
    membership: Membership,
    wake: () => void,
  ) {
    this.#options = options;
    this.#emitter = emitter;
    this.#membership = membership;
    this.#lookout = new Lookout(options, emitter, membership);
    this.#range = new ShardRange(options, (error) =>
      emitter.emit('error', { error, during: 'plan' }),
    );
    this.ownership = new Ownership({
      options,
      emitter,
      successorOf: (shard) => {
        const target = this.#targets.get(shard);
        if (target === undefined) return undefined;
        if (!this.#membership.isSelf(target)) return { id: target };
        // A plan from before we began to leave.
        return this.#isLeaving ? undefined : 'self';
      },
      tellUnready: () => this.#tellUnready(),
      wake,
    });
  }

  /** What the last pass was doing when it ended. */
  get step(): FailedStep {
    return this.#step;
  }

  /** From now on this process gives away what it has and takes nothing. */
  leave(): void {
    this.#isLeaving = true;
    this.#updateState();
  }

  /**
   * Resolves to the milliseconds until the next pass is due. What was handed to us under one of the woken names is taken
   * before anything else.
   *
   * @throws errors of the store.
   */
  async pass(woken: readonly string[]): Promise<number> {
    this.#step = 'register';
    await this.#lookout.register();
    await this.#catchHandoffs(woken);
    this.#step = 'plan';
    const shards = await this.#range.current();
    const fleet = await this.#lookout.look(shards);
    await this.ownership.observe(fleet);
    this.#updateState();
    const plan = this.#plan(fleet);
    const claims = this.#claims(fleet);
    this.#tellPlan(plan, claims.length, this.ownership.drain(this.#unwanted(shards)));
    this.#step = 'claim';
    const wasCurrent = await this.ownership.claim(claims, { passOn: this.#isLeaving });
    return this.#nextPassMs(fleet, wasCurrent);
  }

  /** Looking at a few names is faster than looking at the fleet, and between two owners a shard stands still. */
  async #catchHandoffs(woken: readonly string[]): Promise<void> {
    const { group, shardCount } = this.#options;
    const shards = shardsNamed(woken, group, shardCount).filter((shard) =>
      this.ownership.mayClaim(shard),
    );
    if (shards.length === 0 || !this.#mayClaim) return;
    this.#step = 'claim';
    await this.ownership.claim(await this.#lookout.handedTo(shards), { passOn: false });
  }

  get #mayClaim(): boolean {
    return !this.#isLeaving && this.ownership.readiness.pauseMs === 0;
  }

  async #tellUnready(): Promise<void> {
    this.#updateState();
    await this.#membership.whenTold();
  }

  #updateState(): void {
    const ready = this.ownership.readiness.pauseMs > 0 ? 'joining' : 'active';
    const state = this.#isLeaving ? 'draining' : ready;
    if (state === this.#membership.state) return;
    this.#membership.state = state;
    this.#emitter.emit('memberState', { state });
  }

  #plan(fleet: Fleet): BalancePlan {
    const { id, state } = this.#membership;
    const members = fleet.members
      .filter((member) => member.shardCount === this.#options.shardCount)
      // What the store shows of us may be one renewal old.
      .map((member) => (member.id === id ? { id, state } : member));
    const plan = balance(members, fleet.shards);
    this.#targets = plan.targets;
    return plan;
  }

  /** What is held and planned for somebody else, or named by no pin any more. */
  #unwanted(shards: readonly number[]): Holding[] {
    const { shards: held } = this.ownership;
    if (this.#isLeaving) return held;
    const known = new Set(shards);
    return held.filter(({ shard }) => {
      const target = this.#targets.get(shard);
      return target === undefined ? !known.has(shard) : !this.#membership.isSelf(target);
    });
  }

  /** What is planned for this process and can be had now; or, while it leaves, what is on its way to it. */
  #claims(fleet: Fleet): number[] {
    if (!this.#isLeaving && !this.#mayClaim) return [];
    return fleet.shards
      .filter(({ shard, record }) => {
        if (!this.ownership.mayClaim(shard)) return false;
        const isFree = record === undefined;
        const isForSelf = record?.state === 'reserved' && this.#membership.isSelf(record.to);
        if (!isFree && !isForSelf) return false;
        return this.#isLeaving ? isForSelf : this.#membership.isSelf(this.#targets.get(shard));
      })
      .map(({ shard }) => shard);
  }

  #tellPlan(plan: BalancePlan, claimCount: number, drainCount: number): void {
    this.#emitter.emit('planned', {
      members: [...plan.quotas.keys()],
      quotaCount: plan.quotas.get(this.#membership.id) ?? 0,
      ownedCount: this.ownership.shards.length,
      claimCount,
      drainCount,
    });
  }

  #nextPassMs(fleet: Fleet, wasCurrent: boolean): number {
    const { leases, sweepEveryMs } = this.#options;
    const random = leases.runtime.random();
    const { readiness, refusalPauseMs } = this.ownership;
    const { pauseMs } = readiness;
    return Math.min(
      sweepEveryMs * (0.8 + random * 0.4),
      fleet.foreignExpiryMs + afterExpiryMs + random * expirySpreadMs,
      wasCurrent ? Number.POSITIVE_INFINITY : afterConflictMs * (1 + random),
      pauseMs > 0 ? pauseMs : Number.POSITIVE_INFINITY,
      refusalPauseMs,
    );
  }
}
