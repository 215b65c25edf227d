export {
  type MemoryCoordinator,
  type MemoryCoordinatorEvents,
  type MemoryCoordinatorOptions,
  memoryCoordinator,
} from './coordinator.js';
export { MemoryStore, type MemoryStoreOptions } from './store.js';
