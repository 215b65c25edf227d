/**
 * Scheduled jobs that run once per tick in a whole fleet: `import { schedule } from 'tenure/schedule'`. Their store comes
 * from `tenure/postgres`, `tenure/redis`, `tenure/sqlite` or `tenure/memory`.
 */
export * from './schedule/index.js';
