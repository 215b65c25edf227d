import { registerSuite, type TestFramework } from '../../conformance/index.js';
import { conformanceCases } from './cases/index.js';
import type { ConformanceTarget } from './subject.js';

/** Registers every requirement on a coordinator for one target, as one test each. */
export function registerCoordinatorConformance(
  target: ConformanceTarget,
  framework: TestFramework,
): void {
  registerSuite('coordinator conformance', conformanceCases, target, framework, (suiteCase) =>
    suiteCase.exemption(target.promises),
  );
}
