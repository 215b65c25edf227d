import type { CoordinatorPromises } from '../../coordinators/index.js';

/** How fast the clock of the checks goes: a production's 30 s in as little as the store grants. */
export interface SelftestClock {
  readonly ttlMs: number;
  readonly renewEveryMs: number;
  /** For `Leases`. */
  readonly timing: {
    readonly ttlMs: number;
    readonly renewEveryMs: number;
    readonly attemptTimeoutMs: number;
  };
  /** How long after its ttl the store may notice that a lease is over, without a claim being wrong. */
  readonly noticedWithinMs: number;
}

const usualTtlMs = 3_000;

/** Stores that end leases in a rhythm of their own, or count whole seconds. */
const noticedWithinMs: Readonly<Record<string, number>> = { etcd: 2_000, zookeeper: 2_000 };

export function selftestClock({ store, smallestTtlMs }: CoordinatorPromises): SelftestClock {
  const ttlMs = Math.max(usualTtlMs, smallestTtlMs);
  const renewEveryMs = ttlMs / 3;
  // Half a renewal interval is the longest that leaves time for a second try: a busy machine is not a broken one.
  const timing = { ttlMs, renewEveryMs, attemptTimeoutMs: renewEveryMs / 2 };
  return { ttlMs, renewEveryMs, timing, noticedWithinMs: noticedWithinMs[store] ?? 0 };
}
