export * from './fences/postgres/index.js';
