export type {
  PostgresClient,
  PostgresPool,
  PostgresQueryable,
  PostgresResult,
} from '../../drivers/postgres/index.js';
export { type PostgresFence, postgresFence } from './fence.js';
export type { LeasesOfFence, PostgresFenceOptions } from './options.js';
export {
  isRowRefusal,
  type PostgresRowGuard,
  type PostgresRowGuardOptions,
  postgresRowGuard,
  type RowValues,
} from './row-guard.js';
export type { PostgresStatement } from './statement.js';
export { migrationSql } from './statements.js';
