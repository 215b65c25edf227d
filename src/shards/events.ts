import type { Known } from '../errors/checks.js';
import type { EndReason } from '../leases/index.js';
import type { MemberState } from './balance.js';
import type { Takeover } from './takeovers.js';
import type { OwnedShard } from './work.js';

export interface ShardWorkerEvents {
  /** These shards are ours; the work on them is about to begin. */
  claimed: { readonly shards: readonly OwnedShard[] };
  /** One of the claimed shards had not been given back: its owner's lease had expired. */
  takenOver: Takeover & { readonly shard: number; readonly term: number };
  /**
   * The store's terms had fallen below what the resource of this shard has seen (a lost replica, a restored backup, a
   * flush): the work was refused, and now the shard has a lease whose term is above `above` again.
   */
  termHealed: { readonly shard: number; readonly above: number; readonly term: number };
  /** Drained and reserved for a successor. */
  handedOff: { readonly shard: number; readonly term: number; readonly to: string };
  /** Given back without a successor; free for anybody, at the latest when its lease would have expired. */
  released: { readonly shard: number; readonly term: number; readonly why: ReleaseCause };
  /** Ended against our will; its work was dropped. Exactly one of this, `handedOff` and `released` ends every claim. */
  lost: { readonly shard: number; readonly term: number; readonly reason: EndReason };
  /** The fleet was looked at. */
  planned: PlanSummary;
  /** What this worker tells the others about itself. */
  memberState: { readonly state: MemberState };
  /** Something went wrong and will be tried again. */
  error: { readonly error: unknown; readonly during: FailedStep };
}

export const shardWorkerEventNames: Known<ShardWorkerEvents> = {
  ...{
    claimed: true,
    takenOver: true,
    termHealed: true,
    handedOff: true,
    released: true,
    lost: true,
  },
  ...{ planned: true, memberState: true, error: true },
};

/** `handoff-unconfirmed`: the store did not confirm the handoff, and the successor may have to wait for an expiry. */
export type ReleaseCause = 'no-successor' | 'begin-failed' | 'handoff-unconfirmed';

export type FailedStep = 'register' | 'plan' | 'claim' | 'begin' | 'drain' | 'drop' | 'handoff';

export interface PlanSummary {
  /** Ids of all members of the fleet that share its shard count, in order. */
  readonly members: readonly string[];
  /** How many shards this worker should own, and does own now. */
  readonly quotaCount: number;
  readonly ownedCount: number;
  /** How many shards this worker is about to claim, and how many it begins to drain. */
  readonly claimCount: number;
  readonly drainCount: number;
}
