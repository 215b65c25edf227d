import { isOpen, type RunRecord } from '../records.js';

/** The earliest tick first. */
export function byTick(one: RunRecord, other: RunRecord): number {
  return one.tickMs - other.tickMs || (one.id < other.id ? -1 : 1);
}

/** The ids of the ended runs that are one too many, those with the earliest ticks. `runs` are by tick. */
export function surplus(runs: readonly RunRecord[], keepRuns: number): string[] {
  const ended = runs.filter((run) => !isOpen(run));
  return ended.slice(0, Math.max(0, ended.length - keepRuns)).map(({ id }) => id);
}
