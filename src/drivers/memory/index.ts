export { MemoryCaller } from './caller.js';
export { type DisturbOptions, FaultLink, type LinkFault } from './fault-link.js';
export { directLink, type LinkMessage, type MemoryLink } from './link.js';
