import type { LeaseRecord } from '../contract.js';
import type { Holder } from '../holder.js';

/** What the store keeps under a name. Deadlines are on the store's own elapsed time, never on a wall clock. */
export type StoredRecord = StoredLease | StoredReservation | ForeignRecord;

export interface StoredLease {
  readonly kind: 'lease';
  readonly holder: Holder;
  readonly attempt: string;
  readonly term: number;
  readonly ttlMs: number;
  readonly deadlineMs: number;
  readonly grantedAtMs: number;
  readonly metadata: string | undefined;
}

export interface StoredReservation {
  readonly kind: 'reservation';
  readonly to: string;
  readonly term: number;
  readonly deadlineMs: number;
}

/** Text that somebody else put under one of our names. It never expires and is never touched. */
export interface ForeignRecord {
  readonly kind: 'foreign';
  readonly text: string;
}

/** A record as others may see it; `nowMs` is the store's elapsed time. */
export function describeRecord(
  name: string,
  record: StoredLease | StoredReservation,
  nowMs: number,
): LeaseRecord {
  const remainingMs = record.deadlineMs - nowMs;
  if (record.kind === 'reservation') {
    return { state: 'reserved', name, to: record.to, term: record.term, remainingMs };
  }
  const { holder, term, ttlMs, grantedAtMs, metadata } = record;
  return { state: 'held', name, holder, term, ttlMs, remainingMs, grantedAtMs, metadata };
}
