import type { JobStore } from '../../../src/schedule/index.js';
import type { MemoryJobs } from '../../../src/schedule/memory/index.js';

/** A store with one flaw, and the case of the suite that has to reject it. */
export interface WrongStore {
  /** What it does, to follow "a store that". */
  readonly flaw: string;
  readonly rejectedBy: string;
  /** What it does instead of the honest one, whose state is at hand. */
  readonly wrong: (honest: JobStore, state: MemoryJobs) => Partial<JobStore>;
}
