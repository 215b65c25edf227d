import type { Candidate } from '../../candidates.js';
import { compareCandidates } from '../../order.js';
import { mayHold } from '../majority.js';
import type { Quota } from './records.js';

/**
 * The candidates that a majority may know, in the order that most have of them: by the middle of their places in the lists.
 *
 * `lists`: each node's, who waits first and in its order, then the rest.
 */
export function mergeCandidates(
  lists: readonly (readonly Candidate[])[],
  quota: Quota,
): Candidate[] {
  const seen = new Map<string, { entries: Candidate[]; places: number[] }>();
  for (const list of lists) {
    for (const [place, candidate] of list.entries()) {
      const known = seen.get(candidate.digest) ?? { entries: [], places: [] };
      known.entries.push(candidate);
      known.places.push(place);
      seen.set(candidate.digest, known);
    }
  }
  return [...seen.values()]
    .filter(({ entries }) => mayHold({ count: entries.length, ...quota }))
    .map(({ entries, places }) => ({
      candidate: agreed(entries, quota.majority),
      place: middleOf(places),
    }))
    .sort((one, other) => compareCandidates(ranked(one), ranked(other)))
    .map(({ candidate }) => candidate);
}

/** What so many show at least: the longest lived come first. */
function agreed(entries: readonly Candidate[], majority: number): Candidate {
  const longestFirst = [...entries].sort((one, other) => other.remainingMs - one.remainingMs);
  const at = Math.min(majority, longestFirst.length) - 1;
  return longestFirst[at] as Candidate;
}

/** The lower one of two in the middle: what half of them say, at least. */
export function middleOf(numbers: readonly number[]): number {
  const inOrder = [...numbers].sort((one, other) => one - other);
  return inOrder[Math.floor((inOrder.length - 1) / 2)] ?? 0;
}

function ranked({ candidate, place }: { candidate: Candidate; place: number }) {
  const { standing, preference, id, digest } = candidate;
  // The places know the order already, preferences included.
  return {
    standing,
    preference: standing === 'waiting' ? 0 : preference,
    since: place,
    id,
    digest,
  };
}
