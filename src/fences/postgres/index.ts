export { type PostgresFence, postgresFence } from './fence.js';
export type { PostgresFenceOptions } from './options.js';
export { migrationSql } from './statements.js';
