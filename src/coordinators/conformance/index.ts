export type { ConformanceCase, DemonstratedPromise } from './case.js';
export { conformanceCases } from './cases/index.js';
export { registerCoordinatorConformance } from './register.js';
export type {
  ConformanceSubject,
  ConformanceTarget,
  ControlName,
  SubjectControls,
} from './subject.js';
