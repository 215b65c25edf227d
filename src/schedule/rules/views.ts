import { RecordCorruptError } from '../../errors/index.js';
import type { CorruptJob, JobsView, JobView } from '../contract.js';
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

/** What `read` makes of each job; what it cannot read keeps nobody from the others. */
export function gathered<Source>(
  nowMs: number,
  sources: Iterable<readonly [job: string, source: Source]>,
  read: (job: string, source: Source) => JobView | undefined,
): JobsView {
  const jobs: JobView[] = [];
  const corrupt: CorruptJob[] = [];
  for (const [job, source] of sources) {
    try {
      const view = read(job, source);
      if (view !== undefined) jobs.push(view);
    } catch (error) {
      if (!(error instanceof RecordCorruptError)) throw error;
      corrupt.push({ job, error });
    }
  }
  return { nowMs, jobs, corrupt };
}
