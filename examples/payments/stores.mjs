// @ts-check
/** One PostgreSQL holds it all: payments and bookings, the fence's terms, and jobs with the leases of who runs them. */
import pg from 'pg';
import { postgresFence, postgresJobs } from 'tenure/postgres';
import { databaseUrl, namespace, ttlMs } from './settings.mjs';

const tables = `
CREATE SCHEMA IF NOT EXISTS ${namespace};

CREATE TABLE IF NOT EXISTS payments (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  accepted_at timestamptz NOT NULL,
  payee text NOT NULL,
  cents bigint NOT NULL
);

-- Nothing here keeps a payment from being booked twice: a unique key on payment would hide what the example is to show.
CREATE TABLE IF NOT EXISTS bookings (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  payment bigint NOT NULL REFERENCES payments,
  cents bigint NOT NULL,
  run text NOT NULL,
  replica text NOT NULL,
  term bigint NOT NULL
);`;

/** Opens the database and creates what is missing in it. */
export async function openDatabase() {
  const options = `-c search_path=${namespace}`;
  const pool = new pg.Pool({ connectionString: databaseUrl, options });
  pool.on('error', (error) => console.error(`database: ${error.message}`));
  // Programs that start together would get in each other's way.
  const lock = `SELECT pg_advisory_xact_lock(hashtext('${namespace}'))`;
  await pool.query(`BEGIN; ${lock}; ${tables} COMMIT`);
  // A replica that freezes inside a transaction makes room after this long.
  const fence = postgresFence(pool, { schema: namespace, idleInTransactionTimeoutMs: ttlMs });
  await fence.migrate();
  const jobStore = postgresJobs(databaseUrl, { schema: namespace });
  await jobStore.migrate();
  return {
    pool,
    fence,
    jobStore,
    async close() {
      await jobStore.close();
      await fence.close();
      await pool.end();
    },
  };
}
