export type { FenceCase, FenceSubject } from './subject.js';
export { fenceCases, registerFenceConformance } from './suite.js';
