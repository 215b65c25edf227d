import pg from 'pg';
import type { FenceSubject } from '../../src/fences/conformance/index.js';
import { type PostgresFenceOptions, postgresFence } from '../../src/fences/postgres/index.js';

export const dataTableSql =
  'CREATE TABLE IF NOT EXISTS data (key text PRIMARY KEY, value text NOT NULL)';

/** A conformance subject on a migrated database: one fence with a pool of its own, one on a user's pool. */
export function postgresSubject(
  url: string,
  options: PostgresFenceOptions = {},
): FenceSubject<pg.PoolClient> {
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  pool.on('error', () => {});
  const fence = postgresFence<pg.PoolClient>(url, options);
  const other = postgresFence<pg.PoolClient>(pool, options);
  return {
    fence,
    other,
    async transaction(work) {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        const result = await work(client);
        await client.query('COMMIT');
        return result;
      } catch (error) {
        await client.query('ROLLBACK');
        throw error;
      } finally {
        client.release();
      }
    },
    async write(transaction, key, value) {
      await transaction.query(
        'INSERT INTO data VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
        [key, value],
      );
    },
    async read(key) {
      const { rows } = await pool.query<{ value: string }>(
        'SELECT value FROM data WHERE key = $1',
        [key],
      );
      return rows[0]?.value;
    },
    async close() {
      await Promise.all([fence.close(), other.close()]);
      await pool.end();
    },
  };
}
