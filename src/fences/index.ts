export type {
  Fence,
  FencePromises,
  FencingToken,
  StoredFence,
  TransactionFence,
} from './contract.js';
