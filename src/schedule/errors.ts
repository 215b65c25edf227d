import { TenureError } from '../errors/index.js';
import type { RunRecord } from './records.js';

/** The reason of a run's `signal` when its attempt takes longer than `timeoutMs`. */
export class RunTimeoutError extends TenureError {
  readonly runId: string;

  constructor(runId: string, timeoutMs: number) {
    super(
      'TENURE_RUN_TIMEOUT',
      `the run ${runId} takes longer than its timeoutMs of ${timeoutMs} ms. Stop; it is tried again if its job has retries left.`,
    );
    this.runId = runId;
  }
}

/** The reason of a run's `signal` when somebody cancelled it. */
export class RunCancelledError extends TenureError {
  readonly runId: string;
  readonly by: string;

  constructor(runId: string, by: string, reason: string) {
    super('TENURE_RUN_CANCELLED', `the run ${runId} was cancelled by ${by}: ${reason}. Stop.`);
    this.runId = runId;
    this.by = by;
  }
}

/** There is no job of this name in the store: nobody who has it has led yet, or it is misspelt. */
export class JobUnknownError extends TenureError {
  readonly job: string;

  constructor(job: string) {
    super(
      'TENURE_JOB_UNKNOWN',
      `there is no job "${job}". A job is there once a process that defines it has led; check the name, the store and its namespace. Or a schedule of another application leads under the same name: give each application a name of its own (name, --name).`,
    );
    this.job = job;
  }
}

/** A job was not forgotten: a run of it has not ended, or somebody has claimed it since it was looked at. */
export class JobInUseError extends TenureError {
  readonly job: string;
  /** The run that is open, if that is why. */
  readonly run: RunRecord | undefined;

  constructor(job: string, run: RunRecord | undefined) {
    const why =
      run === undefined
        ? 'somebody has claimed it meanwhile. Look who leads it, and forget it then'
        : `its run ${run.id} is ${run.state}. Cancel it, or wait for its end, and forget the job then`;
    super('TENURE_JOB_IN_USE', `the job "${job}" was not forgotten: ${why}.`);
    this.job = job;
    this.run = run;
  }
}
