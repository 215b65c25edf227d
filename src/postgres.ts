export type {
  PostgresClient,
  PostgresPool,
  PostgresQueryable,
  PostgresResult,
} from './drivers/postgres/index.js';
export * from './fences/postgres/index.js';
