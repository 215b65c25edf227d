import type { JobRecord } from '../records.js';

/** An earlier definition of a job, and when it ended. */
export type Change = Required<Pick<JobRecord, 'changedAtMs' | 'formerCron' | 'formerTimeZone'>>;

/** The change of a definition up to which not every tick has been considered. */
export function pendingChange(record: JobRecord): Change | undefined {
  const { changedAtMs, formerCron, formerTimeZone, consideredToMs } = record;
  if (changedAtMs === undefined || changedAtMs <= consideredToMs) return undefined;
  if (formerCron === undefined || formerTimeZone === undefined) return undefined;
  return { changedAtMs, formerCron, formerTimeZone };
}

/** From when on the ticks of the present definition count. */
export function countsFromMs(record: JobRecord): number {
  return pendingChange(record)?.changedAtMs ?? record.consideredToMs;
}
