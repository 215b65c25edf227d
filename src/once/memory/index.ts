export { MemoryKeys, type MemoryKeysOptions } from './state.js';
export { type MemoryOnceOptions, memoryOnce } from './store.js';
