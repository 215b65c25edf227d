export {
  type PostgresCoordinator,
  type PostgresCoordinatorEvents,
  type PostgresCoordinatorOptions,
  postgresCoordinator,
} from './coordinator.js';
export {
  type MigratePostgresOptions,
  type Migration,
  migratePostgres,
  postgresSchemaSql,
} from './migrate.js';
