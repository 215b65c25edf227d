export { readEvidence } from './book.js';
export type { ErrorKind } from './error-kind.js';
export * from './evidence.js';
export { EvidenceRecorder } from './recorder.js';
