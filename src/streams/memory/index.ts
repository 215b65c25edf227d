export { MemoryStreams, type MemoryStreamsOptions } from './state.js';
export { type MemoryStreamStoreOptions, memoryStreams } from './store.js';
