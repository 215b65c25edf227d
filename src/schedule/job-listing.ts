import type { LeaseRecord } from '../coordinators/index.js';
import type { CorruptJob, JobsView, JobView } from './contract.js';
import { timesOf } from './cron.js';
import type { JobPause, RunRecord, RunRequest } from './records.js';
import { countsFromMs } from './rules/changes.js';
import { aheadOf, countedAt } from './rules/clock-back.js';

/**
 * Whether anybody runs a job now. `led`: the leader of its election. `leaderless`: nobody leads there. `left-out`: somebody
 * leads there and has not taken the job, since that process does not define it, or was elected a moment ago. `suspended`: an
 * operator lets nobody lead there. `external`: somebody else says when it is due, and leads for each tick alone
 * (node-cron). `unreadable`: what stands of it cannot be read, and nobody runs it.
 */
export type JobLeadership =
  | 'led'
  | 'leaderless'
  | 'left-out'
  | 'suspended'
  | 'external'
  | 'unreadable';

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
  readonly leadership: JobLeadership;
  /** Who leads in its election now, whether or not it runs the job. */
  readonly electedId: string | undefined;
  readonly pause: JobPause | undefined;
  /** When it is due next; `undefined` while it is paused, if it never is again, or if somebody else says so. */
  readonly nextMs: number | undefined;
  /** For so long it has been due and has not begun, in milliseconds; 0 if it is not due, or a run of it is open. */
  readonly overdueMs: number;
  /**
   * By so much it is ahead of the store's clock, which was set back, in milliseconds: no tick begins until a leader has mended
   * that (`clockWentBack`), or the clock has caught up. 0 if it is not, or by less than ten seconds.
   */
  readonly aheadMs: number;
  /** A run that has not ended. */
  readonly open: RunRecord | undefined;
  /** So long ago that run began, in milliseconds; 0 if none is open. */
  readonly openMs: number;
  /** The run with the latest tick. */
  readonly latest: RunRecord | undefined;
  /** Runs that were asked for and have not begun, the oldest first. */
  readonly requests: readonly RunRequest[];
  /** Why it is `unreadable`; all else is empty then. */
  readonly problem: string | undefined;
}

/** By name. @param leases what stands under the names of elections. */
export function listingsOf(
  { nowMs, jobs, corrupt }: JobsView,
  leases: ReadonlyMap<string, LeaseRecord | undefined>,
): JobListing[] {
  const listings = [
    ...jobs.map((view) => listingOf(view, leases.get(view.record.election), nowMs)),
    ...corrupt.map(unreadable),
  ];
  return listings.sort((one, other) => (one.job < other.job ? -1 : 1));
}

function listingOf(view: JobView, lease: LeaseRecord | undefined, nowMs: number): JobListing {
  const { record, pause, open, latest, requests } = view;
  const { job, cron, timeZone, election, holderId, term } = record;
  const times = pause === undefined ? timesOf(cron, timeZone) : undefined;
  const nextMs = times?.nextAfter(countsFromMs(countedAt(record, nowMs)));
  const isDue = nextMs !== undefined && open.length === 0;
  return {
    ...{ job, cron, timeZone, election, term, pause, nextMs, latest, requests },
    leaderId: holderId,
    leadership: leadershipOf(view, lease),
    electedId: lease?.state === 'held' ? lease.holder.id : undefined,
    overdueMs: isDue ? Math.max(0, nowMs - nextMs) : 0,
    aheadMs: aheadOf(record, nowMs),
    open: open[0],
    openMs: open[0] === undefined ? 0 : Math.max(0, nowMs - open[0].beganAtMs),
    problem: undefined,
  };
}

export function leadershipOf({ record }: JobView, lease: LeaseRecord | undefined): JobLeadership {
  if (record.cron === '') return 'external';
  if (lease?.state === 'suspended') return 'suspended';
  if (lease?.state !== 'held') return 'leaderless';
  const { term, holder } = lease;
  return record.term === term && record.holderId === holder.id ? 'led' : 'left-out';
}

function unreadable({ job, error }: CorruptJob): JobListing {
  return {
    ...{
      job,
      cron: '',
      timeZone: '',
      election: '',
      leaderId: '',
      term: 0,
      overdueMs: 0,
      aheadMs: 0,
      openMs: 0,
    },
    ...{ leadership: 'unreadable', electedId: undefined, pause: undefined, nextMs: undefined },
    ...{ open: undefined, latest: undefined, requests: [], problem: error.message },
  };
}
