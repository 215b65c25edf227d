import type { SuiteCase, SuiteTarget } from '../../conformance/index.js';
import type { JobStore } from '../contract.js';

/** What the suite needs to judge a store of jobs: two clients of one place in which there is no job yet. */
export interface JobStoreSubject {
  readonly store: JobStore;
  /** Another client, as another process would have it. */
  readonly other: JobStore;
  /** Ends all that was opened for this subject, both stores included. */
  close(): Promise<void>;
  readonly controls: JobStoreControls;
}

export interface JobStoreControls {
  /** Puts a text that is no record where that of the job stands, as something else than a store would. */
  readonly corrupt?: (job: string) => Promise<void>;
}

export type JobStoreControl = keyof JobStoreControls;
export type JobStoreCase = SuiteCase<JobStoreSubject, JobStoreControl>;
export type JobStoreTarget = SuiteTarget<JobStoreSubject, JobStoreControl>;
