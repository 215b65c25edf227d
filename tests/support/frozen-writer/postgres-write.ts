import pg from 'pg';
import { postgresFence } from '../../../src/fences/postgres/index.js';
import { store as ofTransactions } from './postgres.js';
import type { FencedStore } from './store.js';

const insert = 'INSERT INTO log VALUES ($1, $2)';

/**
 * As the one of transactions, with writes of one statement. The server ends no idle transaction within the time that a
 * successor has: none is to be left open by a frozen owner.
 */
export const store: FencedStore = {
  ...ofTransactions,
  url: import.meta.url,
  async open(target) {
    const pool = new pg.Pool({ connectionString: target, max: 4 });
    pool.on('error', () => {});
    const fence = postgresFence<pg.PoolClient>(pool);
    return {
      claim: (token) => fence.claim(token),
      async append(token, isFenced, inside) {
        await inside();
        const values = [token.name, token.term];
        if (isFenced) await fence.write(token, insert, values);
        else await pool.query(insert, values);
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
  },
};
