export type { ErrorKind } from '../../errors/kinds.js';
export { readEvidence } from './book.js';
export * from './evidence.js';
export { EvidenceRecorder } from './recorder.js';
