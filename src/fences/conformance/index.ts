export type { BatchFenceCase, BatchFenceSubject, FenceCase, FenceSubject } from './subject.js';
export {
  batchFenceCases,
  fenceCases,
  registerBatchFenceConformance,
  registerFenceConformance,
} from './suite.js';
