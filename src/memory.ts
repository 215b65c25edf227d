export * from './coordinators/memory/index.js';
export * from './fences/memory/index.js';
export * from './streams/memory/index.js';
