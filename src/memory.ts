export * from './coordinators/memory/index.js';
export {
  type DisturbOptions,
  FaultLink,
  type LinkFault,
  type LinkMessage,
  type MemoryLink,
} from './drivers/memory/index.js';
export * from './fences/memory/index.js';
export * from './once/memory/index.js';
export * from './schedule/memory/index.js';
export * from './streams/memory/index.js';
