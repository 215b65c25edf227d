import { registerSuite, type TestFramework } from '../../conformance/index.js';
import { claimCases } from './claims.js';
import { operatorCases } from './operators.js';
import { removalCases } from './removals.js';
import type { JobStoreCase, JobStoreTarget } from './subject.js';
import { writeCases } from './writes.js';

export type {
  JobStoreCase,
  JobStoreControls,
  JobStoreSubject,
  JobStoreTarget,
} from './subject.js';

/** Every requirement on a store of jobs. */
export const jobStoreCases: readonly JobStoreCase[] = [
  ...claimCases,
  ...writeCases,
  ...operatorCases,
  ...removalCases,
];

/** Registers the whole suite with a test framework, as the one of coordinators is. */
export function registerJobStoreConformance(
  target: JobStoreTarget,
  framework: TestFramework,
): void {
  registerSuite('job store conformance', jobStoreCases, target, framework);
}
