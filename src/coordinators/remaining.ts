import type { LeaseRecord } from './record.js';

/** Milliseconds until what stands there ends by itself, be it that something else follows; infinite if it never does. */
export function endsInMs(record: LeaseRecord): number {
  // Of a suspension, the term that it revoked comes to an end.
  if (record.state === 'suspended') return record.ending?.remainingMs ?? Number.POSITIVE_INFINITY;
  return record.remainingMs;
}

/** Milliseconds until the name is free if nobody does anything, a lock-delay included; infinite while it is suspended. */
export function freeInMs(record: LeaseRecord): number {
  if (record.state === 'suspended') return Number.POSITIVE_INFINITY;
  return record.remainingMs + (record.state === 'held' ? record.graceMs : 0);
}
