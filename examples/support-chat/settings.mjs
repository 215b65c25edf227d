// @ts-check
/** What all programs of this example agree on. The addresses are those of the compose file. */
const {
  REDIS_URL = 'redis://127.0.0.1:6379',
  DATABASE_URL = 'postgres://tenure:tenure@127.0.0.1:5432/tenure',
  NAMESPACE = 'support_chat',
  TTL_MS = '5000',
} = process.env;

export const redisUrl = REDIS_URL;
export const databaseUrl = DATABASE_URL;
/** Keeps fleets apart: a namespace in Redis, a schema in PostgreSQL. Letters, digits, underscores. */
export const namespace = NAMESPACE;
/** How long a dead process keeps what it owned. */
export const ttlMs = Number(TTL_MS);
/** Few, so that the output stays readable. The same in every process, for as long as there are messages. */
export const shardCount = 16;
/** The name of the fleet: its leases are `chat/shards/0` and so on. */
export const group = 'chat';
