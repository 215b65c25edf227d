import { registerSuite, type TestFramework } from '../../conformance/index.js';
import { beginCases } from './begins.js';
import { endCases } from './ends.js';
import { faultCases } from './faults.js';
import { operatorCases } from './operators.js';
import type { OnceCase, OnceTarget } from './subject.js';

export type {
  OnceCase,
  OnceControlName,
  OnceControls,
  OnceSubject,
  OnceTarget,
} from './subject.js';

/** Every requirement on a store of idempotency keys. */
export const onceCases: readonly OnceCase[] = [
  ...beginCases,
  ...endCases,
  ...operatorCases,
  ...faultCases,
];

/** Registers the whole suite with a test framework, as the one of coordinators is. */
export function registerOnceConformance(target: OnceTarget, framework: TestFramework): void {
  registerSuite('once conformance', onceCases, target, framework);
}
