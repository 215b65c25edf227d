import pg from 'pg';
import type { FenceSubject } from '../../../src/fences/conformance/index.js';
import { type PostgresFenceOptions, postgresFence } from '../../../src/fences/postgres/index.js';
import { type FreshDatabase, freshPostgresDatabase } from '../../support/servers/index.js';

/** Stores a text under a key in the table `public.data`, as the user's own code would. */
export async function put(client: pg.ClientBase, key: string, value: string): Promise<void> {
  const text =
    'INSERT INTO public.data VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value';
  await client.query(text, [key, value]);
}

/** Runs statements on a connection of their own. */
export async function runSql(
  url: string,
  text: string,
  values?: unknown[],
): Promise<pg.QueryResult> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  await client.connect();
  try {
    return await client.query(text, values);
  } finally {
    await client.end();
  }
}

/** The value of a key as anybody else sees it, or `undefined`. */
export async function readData(url: string, key: string): Promise<string | undefined> {
  const { rows } = await runSql(url, 'SELECT value FROM public.data WHERE key = $1', [key]);
  return rows[0]?.value;
}

/** Creates the fence's tables, and a table `public.data` for the tests. */
export async function prepare(url: string, options: PostgresFenceOptions = {}): Promise<void> {
  const fence = postgresFence(url, options);
  await fence.migrate();
  await fence.close();
  await runSql(
    url,
    'CREATE TABLE IF NOT EXISTS public.data (key text PRIMARY KEY, value text NOT NULL)',
  );
}

export async function preparedDatabase(serverUrl: string): Promise<FreshDatabase> {
  const database = await freshPostgresDatabase(serverUrl);
  await prepare(database.url);
  return database;
}

/** A user's pool that does not end the process when its server goes away. */
export function openPool(url: string, config: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 8, ...config });
  pool.on('error', () => {});
  return pool;
}

/** Gives out clients with a `query` of their own, as tracing does: the fence has to be content with text there. */
export function wrapped(inner: pg.Pool): pg.Pool {
  const connect = async () => {
    const client = await inner.connect();
    const query = (text: string, values?: unknown[]) => {
      if (typeof text !== 'string') throw new TypeError('not a text');
      return client.query(text, values);
    };
    return Object.assign(Object.create(client), { query });
  };
  return Object.assign(Object.create(inner), { connect });
}

/** A conformance subject on a prepared database: one fence with a pool of its own, one on a user's pool. */
export function postgresSubject(url: string): FenceSubject<pg.PoolClient> {
  const pool = openPool(url);
  const fence = postgresFence<pg.PoolClient>(url);
  const other = postgresFence<pg.PoolClient>(pool);
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
    write: put,
    async read(key) {
      const { rows } = await pool.query('SELECT value FROM public.data WHERE key = $1', [key]);
      return rows[0]?.value;
    },
    async close() {
      await Promise.all([fence.close(), other.close()]);
      await pool.end();
    },
  };
}
