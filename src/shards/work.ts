import type { Lease } from '../leases/index.js';

/** A shard this process owns, for one term. */
export interface OwnedShard {
  /** 0 to shard count - 1, or the number of a shard that only pins name. */
  readonly shard: number;
  readonly lease: Lease;
}

/**
 * What runs on the shards a worker owns. The shard worker decides which shards are ours; this does the work on them.
 *
 * Nothing here may run on after the shard's `lease.signal` aborted.
 */
export interface ShardWork {
  /** These shards are ours from now on. Resolves once the work on them has begun; a rejection gives them all back. */
  begin(shards: readonly OwnedShard[]): Promise<void>;
  /**
   * Stop beginning new work on this shard and resolve when what was begun has ended. The lease is renewed meanwhile
   * and released, or handed to a successor, afterwards. Must not reject.
   */
  drain(shard: OwnedShard): Promise<void>;
  /** The lease was lost: forget the shard at once. What is still running sees the aborted signal. */
  drop(shard: OwnedShard): void;
}

/** The leases of a group of workers: `<group>/shards/<number>` and `<group>/members/<holder id>`. */
export function shardLeaseName(group: string, shard: number): string {
  return `${group}/shards/${shard}`;
}

export function memberLeaseName(group: string, memberId: string): string {
  return `${group}/members/${memberId}`;
}
