import type { Holder } from './holder.js';
import type { LeaseRecord } from './record.js';

/**
 * What a candidate is doing: `waiting` for the name, `present` without waiting (it leads, or backs off), or
 * `observing` because it is not eligible.
 */
export type Standing = 'waiting' | 'present' | 'observing';

export const standings: readonly Standing[] = ['waiting', 'present', 'observing'];

export function isStanding(value: unknown): value is Standing {
  return standings.includes(value as Standing);
}

export interface EnrollRequest {
  readonly name: string;
  readonly holder: Holder;
  readonly standing: Standing;
  /** Who waits with a higher preference is called first; among equals, who has waited longest. Integer, 0 to 99. */
  readonly preference: number;
  /** The entry ends this long after its last refresh. 100 ms to 24 h. */
  readonly ttlMs: number;
  /** JSON text of at most 4 KiB about the candidate: host, version, zone. */
  readonly metadata?: string;
}

export interface EnrollResult {
  /** The place in the queue, 0 for the first; `undefined` unless waiting. May count some who died, or not all of them. */
  readonly position: number | undefined;
  /** What stands under the name in this same step; `undefined`: it is free, or something foreign stands there. */
  readonly current: LeaseRecord | undefined;
  /**
   * Another live process enrolls here under this holder's id: it has done so since this holder last did. Both are told,
   * each at its next refresh. A process that ended before this one began is not taken for one.
   */
  readonly duplicate: boolean;
}

export interface WithdrawRequest {
  readonly name: string;
  readonly holder: Holder;
}

/** One entry, as others may see it. */
export interface Candidate {
  readonly id: string;
  /** {@link Holder.digest}, to tell incarnations of one id apart. */
  readonly digest: string;
  readonly standing: Standing;
  readonly preference: number;
  /** Unix time since which it stands like this, by the store's clock. */
  readonly sinceMs: number;
  /** Until the entry ends by itself. */
  readonly remainingMs: number;
  readonly metadata: string | undefined;
}

/** A name may be free for a waiter. */
export interface Call {
  /** `undefined`: after a reconnect, anything may have happened. */
  readonly name: string | undefined;
  /** Which of those called this one is: 0 tries at once, the others a little later, in case it is dead. */
  readonly position: number;
}

/** How many of those who wait are called when a name becomes free: so that one or two dead ones cost no time. */
export const calledCount = 3;
