import type { JobView } from './contract.js';
import { timesOf } from './cron.js';
import type { JobPause, RunRecord, RunRequest } from './records.js';
import { countsFromMs } from './rules/changes.js';

/** A job as it is listed. Times are Unix times in milliseconds, by the store's clock. */
export interface JobListing {
  readonly job: string;
  /** Empty if somebody else says when it is due. */
  readonly cron: string;
  readonly timeZone: string;
  /** The election whose leader runs it. */
  readonly election: string;
  /** Who led it last, and under which term. */
  readonly leaderId: string;
  readonly term: number;
  readonly pause: JobPause | undefined;
  /** When it is due next; `undefined` while it is paused, if it never is again, or if somebody else says so. */
  readonly nextMs: number | undefined;
  /** A run that has not ended. */
  readonly open: RunRecord | undefined;
  /** The run with the latest tick. */
  readonly latest: RunRecord | undefined;
  /** Runs that were asked for and have not begun, the oldest first. */
  readonly requests: readonly RunRequest[];
}

export function listingOf({ record, pause, open, latest, requests }: JobView): JobListing {
  const { job, cron, timeZone, election, holderId, term } = record;
  const times = pause === undefined ? timesOf(cron, timeZone) : undefined;
  const nextMs = times?.nextAfter(countsFromMs(record));
  return {
    ...{ job, cron, timeZone, election, term, pause, nextMs, latest },
    leaderId: holderId,
    open: open[0],
    requests,
  };
}
