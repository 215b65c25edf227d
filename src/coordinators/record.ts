import type { Act } from './acts.js';
import type { Holder } from './holder.js';

/** What stands under a name that is not free. Durations are by the store's clock at the time of the answer. */
export type LeaseRecord = HeldRecord | ReservedRecord | LockDelayRecord | SuspendedRecord;

/** Somebody holds the name. */
export interface HeldRecord {
  readonly state: 'held';
  readonly name: string;
  readonly holder: Holder;
  readonly term: number;
  /** Which acquisition this is: the `attempt` it was granted to. */
  readonly leaseId: string;
  readonly ttlMs: number;
  /** Until the store lets it expire. */
  readonly remainingMs: number;
  /** Unix time of the grant, and of the last renewal (or the grant), by the store's clock. */
  readonly grantedAtMs: number;
  readonly renewedAtMs: number;
  readonly metadata: string | undefined;
  /** The lock-delay that follows if it expires. */
  readonly graceMs: number;
  /** Set once an operator has ended this term: it is not renewed any more. */
  readonly revocation: Revocation | undefined;
}

/** Nobody holds the name; one holder id may acquire it. */
export interface ReservedRecord {
  readonly state: 'reserved';
  readonly name: string;
  /** The id of the holder that may acquire. */
  readonly to: string;
  /** The term of the lease that was handed off. */
  readonly term: number;
  readonly remainingMs: number;
}

/** Nobody holds the name, nor may: a lease with a lock-delay expired. */
export interface LockDelayRecord {
  readonly state: 'lock-delay';
  readonly name: string;
  /** The term of the lease that expired. */
  readonly term: number;
  readonly remainingMs: number;
}

/** Nobody may acquire the name until an operator resumes it. */
export interface SuspendedRecord {
  readonly state: 'suspended';
  readonly name: string;
  readonly suspension: Revocation;
  /** The revoked term, as long as its holder may still believe in it. */
  readonly ending: HeldRecord | undefined;
}

/** An operator's act, with its Unix time by the store's clock. */
export interface Revocation extends Act {
  readonly atMs: number;
  /** The holder id that gets the name next, if one was named. */
  readonly to?: string;
}
