import type { SuiteCase, SuiteTarget } from '../../conformance/index.js';
import type { JobStore } from '../contract.js';

/** What the suite needs to judge a store of jobs: two clients of one place in which there is no job yet. */
export interface JobStoreSubject {
  readonly store: JobStore;
  /** Another client, as another process would have it. */
  readonly other: JobStore;
  /** Ends all that was opened for this subject, both stores included. */
  close(): Promise<void>;
  /** No faults are asked for. */
  readonly controls: Record<never, never>;
}

export type JobStoreCase = SuiteCase<JobStoreSubject>;
export type JobStoreTarget = SuiteTarget<JobStoreSubject>;
