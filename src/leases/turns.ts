import { calledCount, type LeaseRecord } from '../coordinators/index.js';
import { freeInMs } from '../coordinators/remaining.js';

/*
 * When who waits for a name takes its turn. Each has a place: 0 tries at once, each of the next a step later, in case
 * those before it are dead; whoever is not among the first `calledCount` leaves it to them. So one release or expiry costs
 * a constant number of requests, however many wait.
 */

/** Long enough for the one before to have been granted the name. */
const stepMs = 100;

type Random = () => number;

/** Milliseconds from a call to this place until its turn. */
export function turnAfterCallMs(place: number, random: Random): number {
  return place * stepMs * (0.75 + random() / 2);
}

/** Milliseconds until the turn of this place if nobody calls; infinite if it has to wait for that. */
export function turnUncalledMs(current: LeaseRecord, place: number, random: Random): number {
  if (place >= calledCount) return Number.POSITIVE_INFINITY;
  // Not sooner than the store itself notices, by its own clock.
  return freeInMs(current) + 5 + random() * 20 + place * stepMs;
}

/** Whether it is kept for this holder id, which may acquire it then. */
export function isReservedFor(id: string, current: LeaseRecord): boolean {
  return current.state === 'reserved' && current.to === id;
}
