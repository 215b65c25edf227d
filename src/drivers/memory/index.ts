export { MemoryCaller } from './caller.js';
export { type DisturbOptions, FaultLink, type LinkFault } from './fault-link.js';
export { type LinkMessage, type MemoryLink, requireLink } from './link.js';
