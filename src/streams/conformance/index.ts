export type { StreamConformanceCase } from './case.js';
export { streamConformanceCases } from './cases/index.js';
export { registerStreamConformance } from './register.js';
export type {
  StreamControlName,
  StreamControls,
  StreamSubject,
  StreamTarget,
} from './subject.js';
