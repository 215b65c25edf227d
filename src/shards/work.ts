import type { Lease } from '../leases/index.js';

/** A shard this process owns, for one term. */
export interface OwnedShard {
  /** 0 to shard count - 1, or the number of a shard that only pins name. */
  readonly shard: number;
  readonly lease: Lease;
}

/** The resource that a shard is about has seen a term that is not lower than that of the lease, from somebody else. */
export interface RefusedShard {
  readonly shard: OwnedShard;
  readonly installedTerm: number;
}

/**
 * What runs on the shards a worker owns. The shard worker decides which shards are ours; this does the work on them.
 *
 * Nothing here may run on after the shard's `lease.signal` aborted.
 */
export interface ShardWork {
  /**
   * These shards are ours from now on. Resolves once the work on them has begun; a rejection gives them all back.
   *
   * May resolve to those on which it was refused, because a newer term is installed there. Their leases end as
   * superseded; no work on them may be running. The next one of this process goes above the installed term.
   */
  begin(shards: readonly OwnedShard[]): Promise<void> | Promise<readonly RefusedShard[]>;
  /**
   * Stop beginning new work on this shard and resolve when what was begun has *really* ended, not before: the lease,
   * which is renewed meanwhile, is then released or handed to a successor, who begins at once. If the lease ends
   * meanwhile its signal aborts, and the promise still tells when the work has stopped. Must not reject.
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
