export type { EtcdBatch } from './batch.js';
export { type EtcdFence, etcdFence } from './fence.js';
export type { EtcdFenceOptions } from './options.js';
