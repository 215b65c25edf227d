export { type PostgresOnce, type PostgresOnceOptions, postgresOnce } from './store.js';
