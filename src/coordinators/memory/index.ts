export { type MemoryCoordinatorOptions, memoryCoordinator } from './coordinator.js';
export { type DisturbOptions, FaultLink, type LinkFault } from './fault-link.js';
export type { LinkMessage, LinkOperation, MemoryLink } from './link.js';
export { MemoryStore, type MemoryStoreOptions } from './store.js';
