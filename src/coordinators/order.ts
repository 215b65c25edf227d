import type { Standing } from './candidates.js';

/** What decides where a candidate stands in the list of its name. */
export interface Ranked {
  readonly standing: Standing;
  readonly preference: number;
  /** Whatever rises with the moment since which it stands like this: a time, or the number of an enrollment. */
  readonly since: number;
  readonly id: string;
  readonly digest: string;
}

/**
 * Compares two candidates of one name for `sort`: first who waits, in the order in which they are called (the highest
 * preference, then who has waited longest); then the others by id. Never 0 for two different candidates.
 */
export function compareCandidates(one: Ranked, other: Ranked): number {
  const isWaiting = one.standing === 'waiting';
  if (isWaiting !== (other.standing === 'waiting')) return isWaiting ? -1 : 1;
  if (isWaiting) {
    const byRank = other.preference - one.preference || one.since - other.since;
    if (byRank !== 0) return byRank;
  }
  return compareTexts(one.id, other.id) || compareTexts(one.digest, other.digest);
}

/** By code units, as every store can. */
function compareTexts(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
