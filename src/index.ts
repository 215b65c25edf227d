/**
 * The core of tenure: who may act now, and how everyone else is refused. It loads no store and no client. Leases and
 * elections are kept by a coordinator of `tenure/redis`, `tenure/sqlite` or `tenure/memory`; a fence in PostgreSQL is in
 * `tenure/postgres`.
 */
export * from './coordinators/index.js';
export * from './diagnosis/index.js';
export * from './elections/index.js';
export * from './errors/index.js';
export type { EventSource, Unsubscribe } from './events/index.js';
export * from './fences/index.js';
export * from './leases/index.js';
export * from './once/index.js';
export * from './shards/index.js';
export * from './streams/index.js';
export type { BackoffOptions, Instant, Runtime, Timer, TimerOptions } from './time/index.js';
export { realRuntime } from './time/index.js';
