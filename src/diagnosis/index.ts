export { type Cause, causes } from './cause.js';
export type { Change, Comparison, Period } from './comparison.js';
export { type DiagnoseOptions, type Diagnosis, diagnose } from './diagnose.js';
export type { Finding } from './findings.js';
export type { TimelinePart } from './timeline.js';
