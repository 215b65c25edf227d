export type {
  PostgresClient,
  PostgresPool,
  PostgresQueryable,
  PostgresResult,
} from './client.js';
export { classifyPostgresError, noTransaction, type PostgresPhase } from './errors.js';
export { quoteSchema } from './identifiers.js';
export { PostgresPoolHandle } from './pool.js';
export { type Ask, ask, runTransaction } from './session.js';
