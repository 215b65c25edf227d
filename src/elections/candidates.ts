import type { Candidate, LeaseRecord } from '../coordinators/index.js';
import { type Json, parseMetadata } from './metadata.js';

/** A live entry of an election, as others may see it. */
export interface ElectionCandidate extends Omit<Candidate, 'metadata'> {
  /** What it says about itself; `undefined` if that is nothing, or no JSON. */
  readonly metadata: Json | undefined;
  /** Whether this incarnation holds the name. */
  readonly leads: boolean;
}

/** Marks who leads by the whole holder: an id may have several incarnations. */
export function withLeader(
  candidates: readonly Candidate[],
  record: LeaseRecord | undefined,
): ElectionCandidate[] {
  const leader = record?.state === 'held' ? record.holder.digest : undefined;
  return candidates.map((candidate) => ({
    ...candidate,
    metadata: parseMetadata(candidate.metadata),
    leads: candidate.digest === leader,
  }));
}
