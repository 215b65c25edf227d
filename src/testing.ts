/**
 * What tests of a program on tenure, and of a coordinator of one's own, can use: processes on one virtual clock, with
 * faults; and the suites that every coordinator, fence and stream store has to pass. Needs no test framework and works
 * with any.
 */
export * from './conformance/index.js';
export * from './coordinators/conformance/index.js';
export * from './fences/conformance/index.js';
export * from './once/conformance/index.js';
export * from './schedule/conformance/index.js';
export * from './streams/conformance/index.js';
export * from './testing/index.js';
export type { Instant, Runtime, Timer, TimerOptions } from './time/index.js';
export { VirtualRuntime, type VirtualRuntimeOptions } from './time/virtual.js';
