import type { Candidate, HeldRecord, LeaseRecord } from '../coordinators/index.js';
import { compareCandidates } from '../coordinators/order.js';
import { type Json, parseMetadata } from './metadata.js';

/** A live entry of an election, as others may see it. */
export interface ElectionCandidate extends Omit<Candidate, 'metadata'> {
  /** What it says about itself; `undefined` if that is nothing, or no JSON. */
  readonly metadata: Json | undefined;
  /** Whether this incarnation holds the name. */
  readonly leads: boolean;
}

/**
 * Marks who leads by the whole holder: an id may have several incarnations. A leader that has no entry, since its term has
 * just begun, is added by what its lease says.
 */
export function withLeader(
  candidates: readonly Candidate[],
  record: LeaseRecord | undefined,
): ElectionCandidate[] {
  const leader = record?.state === 'held' ? record.holder.digest : undefined;
  return withEntryOf(record, candidates).map((candidate) => ({
    ...candidate,
    metadata: parseMetadata(candidate.metadata),
    leads: candidate.digest === leader,
  }));
}

function withEntryOf(
  record: LeaseRecord | undefined,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  if (record?.state !== 'held') return candidates;
  if (candidates.some(({ digest }) => digest === record.holder.digest)) return candidates;
  const entry = entryOf(record);
  const after = candidates.findIndex(
    (other) => compareCandidates(ranked(entry), ranked(other)) < 0,
  );
  return candidates.toSpliced(after === -1 ? candidates.length : after, 0, entry);
}

function entryOf({ holder, metadata, grantedAtMs, remainingMs }: HeldRecord): Candidate {
  const { id, digest } = holder;
  const standing = 'present';
  return { id, digest, standing, preference: 0, sinceMs: grantedAtMs, remainingMs, metadata };
}

function ranked(candidate: Candidate) {
  return { ...candidate, since: candidate.sinceMs };
}
