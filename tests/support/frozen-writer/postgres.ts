import pg from 'pg';
import { postgresFence } from '../../../src/fences/postgres/index.js';
import { freshPostgresDatabase } from '../servers/index.js';
import type { FencedStore, LogSide } from './store.js';

/** Long enough for a statement on a busy machine, short enough to be waited for in every round. */
const idleInTransactionTimeoutMs = 250;

export const store: FencedStore = {
  url: import.meta.url,
  claimLimitMs: 10_000,
  async prepare({ postgresUrl }) {
    const database = await freshPostgresDatabase(postgresUrl);
    const fence = postgresFence(database.url);
    await fence.migrate();
    await fence.close();
    const client = new pg.Client(database.url);
    await client.connect();
    await client.query('CREATE TABLE log (name text NOT NULL, term bigint NOT NULL)');
    await client.end();
    return { target: database.url, remove: () => database.drop() };
  },
  open: async (target) => openSide(target),
};

function openSide(target: string): LogSide {
  const pool = new pg.Pool({ connectionString: target, max: 4 });
  pool.on('error', () => {});
  const fence = postgresFence<pg.PoolClient>(pool, { idleInTransactionTimeoutMs });
  const insert = 'INSERT INTO log VALUES ($1, $2)';
  return {
    claim: (token) => fence.claim(token),
    async append(token, isFenced, inside) {
      const { name, term } = token;
      if (isFenced) {
        await fence.transaction(token, async (client) => {
          await client.query(insert, [name, term]);
          await inside();
        });
        return;
      }
      const client = await pool.connect();
      let isClean = false;
      try {
        await client.query('BEGIN');
        await client.query(insert, [name, term]);
        await inside();
        await client.query('COMMIT');
        isClean = true;
      } finally {
        client.release(!isClean);
      }
    },
    async count(name, term) {
      const text = 'SELECT count(*)::int AS count FROM log WHERE name = $1 AND term = $2';
      return (await pool.query(text, [name, term])).rows[0].count;
    },
    async close() {
      await fence.close();
      await pool.end();
    },
  };
}
