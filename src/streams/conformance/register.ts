import { registerSuite, type TestFramework } from '../../conformance/index.js';
import { streamConformanceCases } from './cases/index.js';
import type { StreamTarget } from './subject.js';

/** Registers every requirement on a stream store for one target, as one test each. */
export function registerStreamConformance(target: StreamTarget, framework: TestFramework): void {
  registerSuite('stream conformance', streamConformanceCases, target, framework);
}
