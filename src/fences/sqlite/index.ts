export { type SqliteFence, type SqliteGuarded, sqliteFence } from './fence.js';
export type { SqliteBindable, SqliteHandle, SqliteHandleStatement } from './handle.js';
export type { SqliteFenceOptions } from './options.js';
export { migrationSql as sqliteFenceMigrationSql } from './statements.js';
export { SqliteFenceTransaction } from './transaction.js';
