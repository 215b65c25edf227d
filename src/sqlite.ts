/**
 * Leases and fences in a file, for the processes of one machine: `import { sqliteCoordinator } from 'tenure/sqlite'`. Needs Node
 * 22.13 or later, or the package `libsql`.
 */
export {
  type SqliteCoordinator,
  type SqliteCoordinatorEvents,
  type SqliteCoordinatorOptions,
  sqliteCoordinator,
} from './coordinators/sqlite/index.js';
export {
  type SqliteBindable,
  type SqliteFence,
  type SqliteFenceOptions,
  SqliteFenceTransaction,
  type SqliteGuarded,
  type SqliteHandle,
  type SqliteHandleStatement,
  sqliteFence,
  sqliteFenceMigrationSql,
} from './fences/sqlite/index.js';
export * from './once/sqlite/index.js';
export * from './schedule/sqlite/index.js';
