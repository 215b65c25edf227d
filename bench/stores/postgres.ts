import pg from 'pg';
import { realRuntime } from '../../src/time/index.js';
import { type Reference, renewedNames, ttlMs } from './reference.js';

const connectionCount = 4;

export async function postgresReference(url: string): Promise<Reference> {
  const pool = new pg.Pool({ connectionString: url, max: connectionCount });
  // The server is stopped while its connections are still open.
  pool.on('error', () => {});
  const token = realRuntime.randomHex(16);
  await pool.query('DROP TABLE IF EXISTS raw_lock');
  await pool.query(
    'CREATE TABLE raw_lock (name text PRIMARY KEY, token text NOT NULL, until timestamptz NOT NULL)',
  );
  const take = `INSERT INTO raw_lock VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms')
    ON CONFLICT (name) DO UPDATE SET token = excluded.token, until = excluded.until
    WHERE raw_lock.until < clock_timestamp()`;
  for (const name of renewedNames) await pool.query(take, [name, token, ttlMs]);
  return {
    async pair(name) {
      await pool.query(take, [name, token, ttlMs]);
      await pool.query('DELETE FROM raw_lock WHERE name = $1 AND token = $2', [name, token]);
    },
    pairIs: `pg, ${connectionCount} connections: an upsert under a condition and a delete, each durable; no term, history or waking`,
    async renew() {
      await pool.query(
        "UPDATE raw_lock SET until = clock_timestamp() + $3 * interval '1 ms' WHERE name = ANY($1) AND token = $2 AND until > clock_timestamp()",
        [renewedNames, token, ttlMs],
      );
    },
    renewIs: 'pg: one UPDATE of 256 rows by name and token',
    close: () => pool.end(),
  };
}
