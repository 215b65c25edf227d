import type { Timing } from '../stage.js';

/** Patient, for a busy machine: a renewal may fail long before the lease is given up. */
export function timingOf(ttlMs: number): Timing {
  return { ttlMs, renewEveryMs: ttlMs / 4, attemptTimeoutMs: ttlMs / 6 };
}
