export { type MemoryCoordinatorOptions, memoryCoordinator } from './coordinator.js';
export { MemoryStore, type MemoryStoreOptions } from './store.js';
