import type { Act, CallOptions } from '../../coordinators/index.js';
import type { FencingToken } from '../../fences/index.js';
import type {
  Adoption,
  Cancelling,
  CancelResult,
  ForgetResult,
  JobChange,
  WriteResult,
} from '../contract.js';
import type { JobPause, RunRequest } from '../records.js';
import {
  cancelling,
  forgetting,
  pausing,
  requesting,
  resuming,
  type Step,
  writing,
} from './steps.js';

/** The operations of a store that are a {@link Step} each. */
export type SteppedOperation = 'write' | 'request' | 'pause' | 'resume' | 'cancel' | 'forget';

/** What all stores of jobs have alike: what they write about one job, apart from a claim, is a step. How to execute one is theirs. */
export abstract class SteppedJobs {
  /** Looks, decides and writes, while nobody else can write that job. */
  protected abstract execute<Answer>(
    operation: SteppedOperation,
    step: Step<Answer>,
    call: CallOptions,
  ): Promise<Answer>;

  async write(token: FencingToken, change: JobChange, call: CallOptions): Promise<WriteResult> {
    return this.execute('write', writing(token, change), call);
  }

  async request(
    request: Omit<RunRequest, 'atMs'>,
    call: CallOptions,
  ): Promise<RunRequest | undefined> {
    return this.execute('request', requesting(request), call);
  }

  async pause(job: string, act: Act, call: CallOptions): Promise<JobPause | undefined> {
    return this.execute('pause', pausing(job, act), call);
  }

  async resume(job: string, call: CallOptions): Promise<boolean> {
    return this.execute('resume', resuming(job), call);
  }

  async cancel(
    job: string,
    runId: string,
    act: Cancelling,
    call: CallOptions,
  ): Promise<CancelResult> {
    return this.execute('cancel', cancelling(job, runId, act), call);
  }

  async forget(job: string, seen: Adoption | undefined, call: CallOptions): Promise<ForgetResult> {
    return this.execute('forget', forgetting(job, seen), call);
  }
}
