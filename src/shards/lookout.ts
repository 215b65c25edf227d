import type { Emitter } from '../events/index.js';
import type { ShardWorkerEvents } from './events.js';
import { type Fleet, readFleet } from './fleet.js';
import { MemberIdTakenError, shardCountMismatch } from './members.js';
import type { Membership } from './membership.js';
import type { ResolvedShardWorkerOptions } from './options.js';
import { shardLeaseName } from './work.js';

/** What this process sees of its fleet, and that the fleet sees it. */
export class Lookout {
  readonly #options: ResolvedShardWorkerOptions;
  readonly #emitter: Emitter<ShardWorkerEvents>;
  readonly #membership: Membership;

  constructor(
    options: ResolvedShardWorkerOptions,
    emitter: Emitter<ShardWorkerEvents>,
    membership: Membership,
  ) {
    this.#options = options;
    this.#emitter = emitter;
    this.#membership = membership;
  }

  /** Joins anew if the member lease was lost. If the id is taken, this process is no member and owns nothing for long. */
  async register(): Promise<void> {
    try {
      const isNew = await this.#membership.ensure();
      if (isNew) await this.#membership.ring();
    } catch (error) {
      if (!(error instanceof MemberIdTakenError)) throw error;
      this.#emitter.emit('error', { error, during: 'register' });
    }
  }

  /** If the record of our member lease is gone, we need not wait for a renewal to tell: join anew, and look again. */
  async look(shards: readonly number[]): Promise<Fleet> {
    const fleet = await this.#read(shards);
    if (fleet.listsSelf || !(await this.#membership.doubt())) return fleet;
    await this.register();
    return this.#read(shards);
  }

  /** Those of the shards that were handed to this process and wait for it. */
  async handedTo(shards: readonly number[]): Promise<number[]> {
    const { leases, group } = this.#options;
    const names = shards.map((shard) => shardLeaseName(group, shard));
    const timeoutMs = leases.timing.attemptTimeoutMs;
    const records = await leases.coordinator.read(names, { timeoutMs });
    return shards.filter((_, index) => {
      const record = records[index];
      return record?.state === 'reserved' && this.#membership.isSelf(record.to);
    });
  }

  async #read(shards: readonly number[]): Promise<Fleet> {
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
}
