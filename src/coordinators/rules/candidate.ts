import type { Candidate, Standing } from '../candidates.js';
import type { Holder } from '../holder.js';
import type { Ranked } from '../order.js';

/** One holder's entry for one name. Deadlines are on the store's elapsed time. */
export interface StoredCandidate extends Ranked {
  readonly holder: Holder;
  readonly standing: Standing;
  readonly deadlineMs: number;
  readonly sinceMs: number;
  /** Rises from enrollment to enrollment: tells who of two refreshed later, within one millisecond too. */
  readonly refresh: number;
  readonly metadata: string | undefined;
}

/** An entry as others may see it: without the holder's nonce. */
export function describeCandidate(entry: StoredCandidate, nowMs: number): Candidate {
  const { id, digest, standing, preference, sinceMs, metadata } = entry;
  const remainingMs = entry.deadlineMs - nowMs;
  return { id, digest, standing, preference, sinceMs, remainingMs, metadata };
}
