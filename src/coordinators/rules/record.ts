import type { Holder } from '../holder.js';
import type { HeldRecord, LeaseRecord, Revocation } from '../record.js';

/** What stands under a name. Deadlines are on the store's own monotonic clock, never on a wall clock. */
export type StoredRecord = StoredLease | StoredLockDelay | StoredReservation | ForeignRecord;

export interface StoredLease {
  readonly kind: 'lease';
  readonly holder: Holder;
  readonly attempt: string;
  readonly term: number;
  readonly ttlMs: number;
  readonly deadlineMs: number;
  readonly grantedAtMs: number;
  readonly renewedAtMs: number;
  readonly metadata: string | undefined;
  readonly graceMs: number;
  readonly revocation: StoredRevocation | undefined;
}

/** An operator has ended the term; the successor, if one was named, gets the name for `reserveMs` once it is over. */
export interface StoredRevocation extends Revocation {
  readonly reserveMs: number;
}

/** What is left of a lease that expired: until its deadline nobody is granted the name. */
export interface StoredLockDelay {
  readonly kind: 'lock-delay';
  readonly term: number;
  readonly deadlineMs: number;
  readonly revocation: StoredRevocation | undefined;
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

/** What follows a record whose deadline has passed; `undefined`: the name is free. */
export function afterExpiry(
  record: Exclude<StoredRecord, ForeignRecord>,
): StoredRecord | undefined {
  if (record.kind === 'reservation') return undefined;
  const { term, deadlineMs, revocation } = record;
  if (record.kind === 'lease' && record.graceMs > 0) {
    return { kind: 'lock-delay', term, deadlineMs: deadlineMs + record.graceMs, revocation };
  }
  return reservationAfter(record, deadlineMs);
}

/** The reservation that a revocation wanted, from `fromMs` on. */
export function reservationAfter(
  { term, revocation }: StoredLease | StoredLockDelay,
  fromMs: number,
): StoredReservation | undefined {
  if (revocation?.to === undefined) return undefined;
  const deadlineMs = fromMs + revocation.reserveMs;
  return { kind: 'reservation', to: revocation.to, term, deadlineMs };
}

/** A record as others may see it; `nowMs` is the store's clock. */
export function describeRecord(
  name: string,
  record: Exclude<StoredRecord, ForeignRecord>,
  nowMs: number,
): LeaseRecord {
  if (record.kind === 'lease') return describeLease(name, record, nowMs);
  const { term } = record;
  const remainingMs = record.deadlineMs - nowMs;
  return record.kind === 'lock-delay'
    ? { state: 'lock-delay', name, term, remainingMs }
    : { state: 'reserved', name, to: record.to, term, remainingMs };
}

export function describeLease(name: string, lease: StoredLease, nowMs: number): HeldRecord {
  const { holder, term, attempt, ttlMs, grantedAtMs, renewedAtMs, metadata, graceMs } = lease;
  const times = { ttlMs, remainingMs: lease.deadlineMs - nowMs, grantedAtMs, renewedAtMs };
  const revocation = lease.revocation && describeRevocation(lease.revocation);
  const particulars = { metadata, graceMs, revocation };
  return { state: 'held', name, holder, term, leaseId: attempt, ...times, ...particulars };
}

function describeRevocation({ by, reason, atMs, to }: StoredRevocation): Revocation {
  return { by, reason, atMs, ...(to === undefined ? {} : { to }) };
}
