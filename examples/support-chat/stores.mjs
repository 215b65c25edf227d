// @ts-check
/** The two stores: PostgreSQL holds what is true, Redis says who works and carries the messages. */
import pg from 'pg';
import { Leases, Topic } from 'tenure';
import { postgresFence } from 'tenure/postgres';
import { redisCoordinator, redisStreams } from 'tenure/redis';
import { databaseUrl, namespace, redisUrl, shardCount, ttlMs } from './settings.mjs';

const tables = `
CREATE SCHEMA IF NOT EXISTS ${namespace};

CREATE TABLE IF NOT EXISTS conversations (
  customer text PRIMARY KEY,
  last_seq integer NOT NULL
);

-- What customers wrote. Also the outbox: a message without published_at may not be in the stream yet.
CREATE TABLE IF NOT EXISTS messages (
  position bigint GENERATED ALWAYS AS IDENTITY,
  customer text NOT NULL REFERENCES conversations,
  seq integer NOT NULL,
  id text NOT NULL,
  text text NOT NULL,
  published_at timestamptz,
  PRIMARY KEY (customer, seq),
  UNIQUE (customer, id)
);
CREATE INDEX IF NOT EXISTS outbox ON messages (position) WHERE published_at IS NULL;

-- One answer to each message. A run is the conversation of one customer.
CREATE TABLE IF NOT EXISTS answers (
  position bigint GENERATED ALWAYS AS IDENTITY,
  run_id text NOT NULL,
  seq integer NOT NULL,
  text text NOT NULL,
  worker text NOT NULL,
  shard integer NOT NULL,
  term bigint NOT NULL,
  UNIQUE (run_id, seq),
  FOREIGN KEY (run_id, seq) REFERENCES messages (customer, seq)
);

-- The memory of what plays the mail provider, see mail.mjs.
CREATE TABLE IF NOT EXISTS mails (
  position bigint GENERATED ALWAYS AS IDENTITY,
  idempotency_key text PRIMARY KEY,
  recipient text NOT NULL,
  text text NOT NULL,
  request_count integer NOT NULL DEFAULT 1
);`;

/** Opens the database and creates what is missing in it. */
export async function openDatabase() {
  const options = `-c search_path=${namespace}`;
  const pool = new pg.Pool({ connectionString: databaseUrl, options });
  pool.on('error', (error) => console.error(`database: ${error.message}`));
  // Programs that start together would get in each other's way.
  const lock = "SELECT pg_advisory_xact_lock(hashtext('support-chat'))";
  await pool.query(`BEGIN; ${lock}; ${tables} COMMIT`);
  // A worker that freezes inside a transaction makes room after this long.
  const fence = postgresFence(pool, { schema: namespace, idleInTransactionTimeoutMs: ttlMs });
  await fence.migrate();
  return {
    pool,
    fence,
    async close() {
      await fence.close();
      await pool.end();
    },
  };
}

/**
 * Connects this process to the fleet: the leases it may hold and the topic it publishes to or reads.
 *
 * @param {string} id of this process, unlike those of the others
 */
export function openFleet(id) {
  const coordinator = redisCoordinator(redisUrl, { namespace });
  const streams = redisStreams(redisUrl, { namespace, topic: 'messages' });
  const leases = new Leases(coordinator, { id, ttlMs });
  const topic = new Topic(streams, { shardCount });
  return {
    leases,
    topic,
    async close() {
      await leases.close();
      await Promise.all([coordinator.close(), streams.close()]);
    },
  };
}
