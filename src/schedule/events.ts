import type { Known } from '../errors/checks.js';
import type { Lease } from '../leases/index.js';
import type { RunRecord } from './records.js';
import type { SkippedTicks } from './rules/due.js';

/** What a schedule tells of the jobs that this process leads. What is told has been written before, unless it says otherwise. */
export interface ScheduleEvents {
  /** An attempt begins: the first, a repeated one, or one that resumes what a predecessor began. */
  runBegan: { readonly run: RunRecord };
  /** A run has ended: `succeeded`, `failed`, `timed-out`, `cancelled` or `abandoned`. */
  runEnded: { readonly run: RunRecord };
  /** An attempt failed, and another one follows. */
  runFailed: { readonly run: RunRecord; readonly error: unknown };
  /** An attempt has stopped, since its process stops or its term ended, and the run goes on under the next one. Not always written. */
  runInterrupted: { readonly run: RunRecord };
  /** An attempt was told to stop some time ago, and goes on. Nothing else of its job can begin. Once per attempt. */
  runOverdue: { readonly run: RunRecord };
  /** Ticks that do not run, by policy. */
  ticksSkipped: { readonly job: string; readonly skipped: SkippedTicks };
  /** A job is not run here, since another election's leader runs it: replicas differ in `name` or `spread`. Once a term. */
  jobElsewhere: { readonly job: string; readonly election: string };
  /**
   * This process waits, and whoever leads in its election does not run these jobs, which are defined here. In a deployment that
   * adds jobs this passes; else another application has a schedule of the same name, and they run never. Once for each term of
   * the leader. A process warning (`TenureScheduleWarning`) if nobody listens.
   */
  leftOut: {
    readonly election: string;
    readonly leaderId: string;
    readonly jobs: readonly string[];
  };
  /**
   * A job is not run, since what stands of it cannot be read: something else has written it. The others are run, and so is this
   * one once it is mended, or forgotten. Once, until it has been led again.
   */
  jobCorrupt: { readonly job: string; readonly error: unknown };
  /**
   * A job is ahead of the store's clock, by so much: the clock ran ahead, and was set back. `isMended`: its ticks come due
   * again from the clock's now on, and none of those that have a run gets another one. Else too few runs were kept to tell
   * which have run, and none begins until the clock has caught up, or the job was forgotten. Once a term.
   */
  clockWentBack: { readonly job: string; readonly aheadMs: number; readonly isMended: boolean };
  /** Somebody had a job forgotten that is defined here. It is made anew, with the ticks from then on. */
  jobForgotten: { readonly job: string };
  /** The store refused or gave no answer, to a leader or to a candidate. It is tried again. */
  storeFailed: { readonly error: unknown; readonly retryInMs: number };
  /** This process leads these jobs. */
  leading: { readonly lease: Lease; readonly jobs: readonly string[] };
  /** It does not lead them any more. */
  stoppedLeading: { readonly lease: Lease; readonly jobs: readonly string[] };
  /**
   * This process gives up the leadership, for this: also if its claims of the jobs have failed for a whole ttl. It takes part
   * again after a pause. Its works are told to stop.
   */
  leadershipFailed: { readonly lease: Lease; readonly error: unknown };
  /**
   * The store cannot be used as it is: its tables or its package are missing, for instance. It is tried again, so that what is
   * mended needs no restart. A process warning (`TenureScheduleWarning`) says so if nobody listens.
   */
  startFailed: { readonly election: string; readonly error: unknown; readonly retryInMs: number };
  /** This process does not take part any more: work has not stopped in time. A process warning if nobody listens. */
  stopped: { readonly election: string; readonly error: unknown };
}

export const scheduleEventNames: Known<ScheduleEvents> = {
  ...{ runBegan: true, runEnded: true, runFailed: true, runInterrupted: true, runOverdue: true },
  ...{ ticksSkipped: true, jobElsewhere: true, jobCorrupt: true, jobForgotten: true },
  ...{ clockWentBack: true, leftOut: true },
  ...{ storeFailed: true, leading: true, stoppedLeading: true, leadershipFailed: true },
  ...{ startFailed: true, stopped: true },
};
