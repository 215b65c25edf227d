import { createPool, type PoolConnection, type RowDataPacket } from 'mysql2/promise';
import { mysqlFence } from '../../../src/fences/mysql/index.js';
import { startMariaDb } from '../servers/index.js';
import type { FencedStore, LogSide } from './store.js';

/** The shortest that the server knows, which counts seconds. */
const idleInTransactionTimeoutMs = 1_000;

export const store: FencedStore = {
  url: import.meta.url,
  claimLimitMs: 10_000,
  async prepare() {
    const server = await startMariaDb();
    const pool = createPool(server.url);
    const fence = mysqlFence(pool);
    await fence.migrate();
    await fence.close();
    const columns = 'name varbinary(255) NOT NULL, term bigint NOT NULL, KEY (name)';
    await pool.query(`CREATE TABLE log (${columns}) ENGINE = InnoDB`);
    await pool.end();
    return { target: server.url, remove: () => server.stop() };
  },
  open: async (target) => openSide(target),
};

function openSide(target: string): LogSide {
  const pool = createPool({ uri: target, connectionLimit: 4 });
  const fence = mysqlFence<PoolConnection>(pool, { idleInTransactionTimeoutMs });
  const insert = 'INSERT INTO log VALUES (?, ?)';
  return {
    claim: (token) => fence.claim(token),
    async append(token, isFenced, inside) {
      const { name, term } = token;
      if (isFenced) {
        await fence.transaction(token, async (connection) => {
          await connection.execute(insert, [name, term]);
          await inside();
        });
        return;
      }
      const connection = await pool.getConnection();
      try {
        await connection.beginTransaction();
        await connection.execute(insert, [name, term]);
        await inside();
        await connection.commit();
      } finally {
        connection.destroy();
      }
    },
    async count(name, term) {
      const text = 'SELECT COUNT(*) AS count FROM log WHERE name = ? AND term = ?';
      const [rows] = await pool.execute<RowDataPacket[]>(text, [name, term]);
      return Number(rows[0]?.count);
    },
    async close() {
      await fence.close();
      await pool.end();
    },
  };
}
