export type { Fence, FencePromises, FencingToken, TransactionFence } from './contract.js';
