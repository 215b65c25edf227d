export type { PostgresOptions, PostgresServer } from './postgres.js';
export { type FreshDatabase, freshPostgresDatabase, startPostgres } from './postgres.js';
export { type RedisOptions, type RedisServer, startRedis } from './redis.js';
