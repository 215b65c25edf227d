export * from './coordinators/memory/index.js';
