export type { Fence, FencePromises, FencingToken } from './contract.js';
