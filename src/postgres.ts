/**
 * Leases and fences in a PostgreSQL database: `import { postgresCoordinator } from 'tenure/postgres'`. Needs the package
 * `pg`, 8 or later.
 */
export {
  type MigratePostgresOptions,
  type Migration,
  migratePostgres,
  type PostgresCoordinator,
  type PostgresCoordinatorEvents,
  type PostgresCoordinatorOptions,
  postgresCoordinator,
  postgresSchemaSql,
} from './coordinators/postgres/index.js';
export * from './fences/postgres/index.js';
export * from './once/postgres/index.js';
export * from './schedule/postgres/index.js';
