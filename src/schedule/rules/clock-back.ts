import type { ClockBack } from '../contract.js';
import type { JobRecord } from '../records.js';

/*
 * A store's clock that ran ahead has moved the jobs on to times that it has not reached once it is right again. Which ticks
 * have run is known by their rows; so time can go on from now, and what ran ahead of its time does not run again.
 */

/** What is ahead of the store's clock by less comes soon enough by itself: clocks of two servers differ, and are set a little. */
const toleratedMs = 10_000;

/** By how much a job is ahead of the store's clock, which therefore was set back; 0 if it is not, or by little. */
export function aheadOf(record: JobRecord, nowMs: number): number {
  const atMs = reachedMs(record);
  return isAhead(atMs, nowMs) ? atMs - nowMs : 0;
}

export function isAhead(atMs: number, nowMs: number): boolean {
  return atMs - nowMs > toleratedMs;
}

/** The latest time that the store's clock has had for this job. */
export function reachedMs({ consideredToMs, changedAtMs = 0 }: JobRecord): number {
  return Math.max(consideredToMs, changedAtMs);
}

/** As it stands when time goes on from there. Whoever is late, or repeats it, finds another time, and changes nothing. */
export function setBack(record: JobRecord, { seenMs, toMs }: ClockBack): JobRecord {
  if (reachedMs(record) !== seenMs || seenMs <= toMs) return record;
  const { consideredToMs, changedAtMs, aheadToMs = 0 } = record;
  return {
    ...record,
    consideredToMs: Math.min(consideredToMs, toMs),
    ...(changedAtMs !== undefined && { changedAtMs: Math.min(changedAtMs, toMs) }),
    aheadToMs: Math.max(consideredToMs, aheadToMs),
  };
}

/** The part of a record that says what was considered ahead, as long as it says anything. */
export function aheadFact(
  aheadToMs: number | undefined,
  consideredToMs: number,
): Pick<JobRecord, 'aheadToMs'> {
  return aheadToMs !== undefined && aheadToMs > consideredToMs ? { aheadToMs } : {};
}

/**
 * As it counts now. Once the clock passes what was considered before it was set back, all up to there is considered: it may
 * have been the setting back that was wrong, and nothing of that time is late then.
 */
export function countedAt(record: JobRecord, nowMs: number): JobRecord {
  const { consideredToMs, aheadToMs } = record;
  if (aheadToMs === undefined || nowMs < aheadToMs) return record;
  return { ...record, consideredToMs: Math.max(consideredToMs, aheadToMs) };
}
