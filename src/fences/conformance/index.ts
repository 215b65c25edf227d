export type { FenceCase, FenceSubject, TestRunner } from './subject.js';
export { fenceCases, registerFenceConformance } from './suite.js';
