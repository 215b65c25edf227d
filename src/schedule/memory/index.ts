export { MemoryJobs } from './state.js';
export { type MemoryJobStoreOptions, memoryJobs } from './store.js';
