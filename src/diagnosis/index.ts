export { type Cause, causes } from './cause.js';
export type { Change, Comparison, Period } from './comparison.js';
export { type DiagnoseOptions, type Diagnosis, diagnose } from './diagnose.js';
export type { Finding } from './findings.js';
export type { TimelinePart } from './timeline.js';
export { adviseTtl, type TtlAdvice, type TtlRow, type TtlWish } from './ttl/advise-ttl.js';
export { type MeasureOptions, measure as measureForTtl } from './ttl/measure.js';
export { plotTtl } from './ttl/plot.js';
export { recordedSample, type TtlSample } from './ttl/sample.js';
