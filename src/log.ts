/** What tenure tells, written to a logger. */
export * from './metrics/log/index.js';
