import type { RunRecord } from '../records.js';
import { mostRuns } from '../requests.js';
import type { Pen } from './pen.js';

/** Whether the row of this run is there. */
export async function isKept(pen: Pen, { id, job, tickMs }: RunRecord): Promise<boolean> {
  // By its tick it is among the first of these: what was asked for by hand may have the same.
  const runs = await pen.runs(job, { limit: 10, beforeMs: tickMs + 1 });
  return runs.some((run) => run.id === id);
}

/**
 * Whether the runs of all ticks after a time are there still. Those with the latest ticks are kept: as long as fewer than
 * are kept lie after it, none of them was forgotten.
 */
export async function nothingIsPruned(
  pen: Pen,
  job: string,
  keepRuns: number,
  afterMs: number,
): Promise<boolean> {
  let beforeMs: number | undefined;
  for (let count = 0; count < keepRuns; ) {
    const limit = Math.min(mostRuns, keepRuns - count);
    const runs = await pen.runs(job, { limit, ...(beforeMs !== undefined && { beforeMs }) });
    const later = runs.filter(({ tickMs }) => tickMs > afterMs);
    if (later.length < limit) return true;
    count += later.length;
    beforeMs = later.at(-1)?.tickMs;
  }
  return false;
}
