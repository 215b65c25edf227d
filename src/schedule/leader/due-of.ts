import { timesOf } from '../cron.js';
import type { ResolvedJob } from '../definition.js';
import type { JobRecord } from '../records.js';
import { pendingChange } from '../rules/changes.js';
import { countedAt } from '../rules/clock-back.js';
import { type Due, due } from '../rules/due.js';

/** What is due of a job, by its definition; what is left of a former one comes first. */
export function dueOf({ times, policy }: ResolvedJob, stored: JobRecord, nowMs: number): Due {
  const record = countedAt(stored, nowMs);
  const { consideredToMs } = record;
  const change = pendingChange(record);
  if (change === undefined) return due(times, policy, consideredToMs, nowMs);
  const { formerCron, formerTimeZone, changedAtMs } = change;
  const former = timesOf(formerCron, formerTimeZone);
  const found = former && due(former, policy, consideredToMs, nowMs, changedAtMs);
  if (found !== undefined && found.consideredToMs > consideredToMs) return found;
  return due(times, policy, changedAtMs, nowMs);
}
