import type { Emitter } from '../events/index.js';
import { type BalancePlan, balance } from './balance.js';
import type { FailedStep, ShardWorkerEvents } from './events.js';
import { type Fleet, readFleet } from './fleet.js';
import type { Holding } from './holdings.js';
import { MemberIdTakenError, shardCountMismatch } from './members.js';
import type { Membership } from './membership.js';
import type { ResolvedShardWorkerOptions } from './options.js';
import { Ownership } from './ownership.js';
import { ShardRange } from './shard-range.js';

/** After a lost race for a shard the fleet is looked at again within 100 to 200 ms. */
const afterConflictMs = 100;
/** After an expiry, so that not all who saw it coming ask in one moment: 5 to 25 ms. */
const afterExpiryMs = 5;
const expirySpreadMs = 20;

/** One look at the fleet, one plan, and its part for this process: register, read, plan, drain, claim. */
export class Planner {
  readonly ownership: Ownership;
  readonly #options: ResolvedShardWorkerOptions;
  readonly #emitter: Emitter<ShardWorkerEvents>;
  readonly #membership: Membership;
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
    this.#range = new ShardRange(options, (error) =>
      emitter.emit('error', { error, during: 'plan' }),
    );
    this.ownership = new Ownership({
      options,
      emitter,
      successorOf: (shard) => {
        const target = this.#targets.get(shard);
        if (target === undefined) return undefined;
        if (!this.#isSelf(target)) return { id: target };
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

  /** Resolves to the milliseconds until the next pass is due. @throws errors of the store. */
  async pass(): Promise<number> {
    await this.#stayRegistered();
    this.#step = 'plan';
    const shards = await this.#range.current();
    const fleet = await this.#lookAsMember(shards);
    await this.ownership.observe(fleet);
    this.#updateState();
    const plan = this.#plan(fleet);
    const claims = this.#claims(fleet);
    this.#tellPlan(plan, claims.length, this.ownership.drain(this.#unwanted(shards)));
    this.#step = 'claim';
    const wasCurrent = await this.ownership.claim(claims, { passOn: this.#isLeaving });
    return this.#nextPassMs(fleet, wasCurrent);
  }

  async #stayRegistered(): Promise<void> {
    this.#step = 'register';
    try {
      const isNew = await this.#membership.ensure();
      if (isNew) await this.#membership.ring();
    } catch (error) {
      if (!(error instanceof MemberIdTakenError)) throw error;
      // Not a member: the pass goes on, claims nothing, and drains what is planned for others, which is everything.
      this.#emitter.emit('error', { error, during: 'register' });
    }
  }

  /** If the record of our member lease is gone, we need not wait for a renewal to tell: join anew, and look again. */
  async #lookAsMember(shards: readonly number[]): Promise<Fleet> {
    const fleet = await this.#look(shards);
    if (fleet.listsSelf || !(await this.#membership.doubt())) return fleet;
    await this.#stayRegistered();
    return this.#look(shards);
  }

  async #look(shards: readonly number[]): Promise<Fleet> {
    const { leases, group, shardCount } = this.#options;
    const fleet = await readFleet(leases.coordinator, {
      group,
      shardCount,
      shards,
      self: leases.holder,
      selfTerm: this.#membership.term,
      timeoutMs: leases.timing.attemptTimeoutMs,
    });
    const ownTerm = this.#membership.term ?? Number.POSITIVE_INFINITY;
    for (const member of fleet.members) {
      if (member.shardCount !== shardCount && member.term < ownTerm)
        throw shardCountMismatch(member.id, member.shardCount, shardCount);
    }
    return fleet;
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
      return target === undefined ? !known.has(shard) : !this.#isSelf(target);
    });
  }

  /** What is planned for this process and can be had now; or, while it leaves, what is on its way to it. */
  #claims(fleet: Fleet): number[] {
    if (!this.#isLeaving && this.ownership.readiness.pauseMs > 0) return [];
    return fleet.shards
      .filter(({ shard, record }) => {
        if (this.ownership.owns(shard) || record?.state === 'held') return false;
        if (record !== undefined && !this.#isSelf(record.to)) return false;
        return this.#isLeaving ? record !== undefined : this.#isSelf(this.#targets.get(shard));
      })
      .map(({ shard }) => shard);
  }

  /** An id alone is not us: while another process is registered under it, it is that one. */
  #isSelf(id: string | undefined): boolean {
    return id === this.#membership.id && this.#membership.term !== undefined;
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
    const { pauseMs } = this.ownership.readiness;
    return Math.min(
      sweepEveryMs * (0.8 + random * 0.4),
      fleet.foreignExpiryMs + afterExpiryMs + random * expirySpreadMs,
      wasCurrent ? Number.POSITIVE_INFINITY : afterConflictMs * (1 + random),
      pauseMs > 0 ? pauseMs : Number.POSITIVE_INFINITY,
    );
  }
}
