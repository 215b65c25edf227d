export { type MemoryFence, memoryFence } from './fence.js';
export { MemoryResource, MemoryTransaction } from './resource.js';
