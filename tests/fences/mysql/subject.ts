import { randomBytes } from 'node:crypto';
import {
  type Connection,
  createConnection,
  createPool,
  type Pool,
  type PoolConnection,
  type PoolOptions,
  type RowDataPacket,
} from 'mysql2/promise';
import type { FenceSubject } from '../../../src/fences/conformance/index.js';
import { type MysqlFenceOptions, mysqlFence } from '../../../src/fences/mysql/index.js';

/** Stores a text under a key in the table `app.data`, as the user's own code would. */
export async function put(connection: Connection, key: string, value: string): Promise<void> {
  const text = 'INSERT INTO app.data VALUES (?, ?) ON DUPLICATE KEY UPDATE value = VALUES(value)';
  await connection.execute(text, [key, value]);
}

/** Runs one statement on a connection of its own. */
export async function runSql(
  url: string,
  text: string,
  values: (string | number)[] = [],
): Promise<RowDataPacket[]> {
  const connection = await createConnection(url);
  connection.on('error', () => {});
  try {
    const [rows] = await connection.query<RowDataPacket[]>(text, values);
    return rows;
  } finally {
    connection.destroy();
  }
}

/** The value of a key as anybody else sees it, or `undefined`. */
export async function readData(url: string, key: string): Promise<string | undefined> {
  const rows = await runSql(url, 'SELECT value FROM app.data WHERE `key` = ?', [key]);
  return rows[0]?.value;
}

/** Creates the fence's tables, and a table `app.data` for the tests. */
export async function prepare(url: string, options: MysqlFenceOptions = {}): Promise<void> {
  const fence = mysqlFence(url, options);
  await fence.migrate();
  await fence.close();
  const columns = '`key` varbinary(300) PRIMARY KEY, value text CHARACTER SET utf8mb4 NOT NULL';
  await runSql(url, `CREATE TABLE IF NOT EXISTS app.data (${columns}) ENGINE = InnoDB`);
}

/** An account that may do only what is granted. */
export async function createAccount(url: string, grants: readonly string[]): Promise<string> {
  const name = `writer_${randomBytes(4).toString('hex')}`;
  await runSql(url, `CREATE USER ${name} IDENTIFIED BY 'pw'`);
  for (const grant of grants) await runSql(url, `GRANT ${grant} TO ${name}`);
  const account = new URL(url);
  account.username = name;
  account.password = 'pw';
  return account.href;
}

export function openPool(url: string, options: PoolOptions = {}): Pool {
  return createPool({ uri: url, connectionLimit: 8, ...options });
}

/** A conformance subject on a prepared server: one fence with a pool of its own, one on a user's pool. */
export function mysqlSubject(
  url: string,
  begin = 'START TRANSACTION',
): FenceSubject<PoolConnection> {
  const pool = openPool(url);
  const fence = mysqlFence<PoolConnection>(url);
  const other = mysqlFence<PoolConnection>(pool);
  return {
    fence,
    other,
    async transaction(work) {
      const connection = await pool.getConnection();
      try {
        await connection.query(begin);
        const result = await work(connection);
        await connection.query('COMMIT');
        return result;
      } catch (error) {
        await connection.query('ROLLBACK');
        throw error;
      } finally {
        await connection.query('SET autocommit = 1');
        connection.release();
      }
    },
    write: put,
    async read(key) {
      const [rows] = await pool.execute<RowDataPacket[]>(
        'SELECT value FROM app.data WHERE `key` = ?',
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
