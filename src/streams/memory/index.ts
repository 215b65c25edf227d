export type { MemoryStreamsLink } from './client.js';
export { MemoryStreams, type MemoryStreamsOptions } from './state.js';
export { type MemoryStreamStoreOptions, memoryStreams } from './store.js';
