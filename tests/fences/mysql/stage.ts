import type { Pool, PoolConnection, RowDataPacket } from 'mysql2/promise';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type { tokenOf } from '../../../src/fences/conformance/scenario.js';
import { type MysqlFence, mysqlFence } from '../../../src/fences/mysql/index.js';
import { type MariaDbServer, startMariaDb } from '../../support/servers/index.js';
import { openPool, prepare, runSql } from './subject.js';

export let server: MariaDbServer;
/** The user's, and a fence on it: new ones for each test. */
export let pool: Pool;
export let fence: MysqlFence<PoolConnection>;

/** A server for the tests of a file. */
export function useMariaDb(): void {
  beforeAll(async () => {
    server = await startMariaDb();
    await prepare(server.url);
  }, 60_000);

  afterAll(async () => await server.stop());

  beforeEach(() => {
    pool = openPool(server.url);
    fence = mysqlFence(pool, { idleInTransactionTimeoutMs: 1000, waitTimeoutMs: 10_000 });
  });

  afterEach(async () => {
    await fence.close();
    await pool.end();
  });
}

export type Token = ReturnType<typeof tokenOf>;

/** Everything of a session that the fence changes while it is at work. */
const settings = `SELECT @@autocommit AS autocommit, @@tx_isolation AS isolation, @@innodb_lock_wait_timeout AS wait,
  @@idle_write_transaction_timeout AS idleWrite, @@idle_readonly_transaction_timeout AS idleRead,
  @@idle_transaction_timeout AS idle, @tenure_autocommit AS left1, @tenure_isolation AS left2, @tenure_lock_wait AS left3,
  @tenure_idle_write AS left4, @tenure_idle_read AS left5`;

export async function settingsOf(connection: PoolConnection): Promise<unknown> {
  const [[row]] = await connection.query<RowDataPacket[]>(settings);
  return { ...row };
}

/** A connection of the user's, ended in any case. */
export async function withConnection<Result>(
  use: (connection: PoolConnection) => Promise<Result>,
  from = pool,
): Promise<Result> {
  const connection = await from.getConnection();
  try {
    return await use(connection);
  } finally {
    connection.destroy();
  }
}

/** For a lock of a row. */
export async function untilSomebodyWaits(): Promise<void> {
  const waits = () => runSql(server.url, 'SELECT 1 FROM information_schema.INNODB_LOCK_WAITS');
  // The server makes a new list only when none was asked for in the last 100 ms.
  await expect.poll(waits, { timeout: 10_000, interval: 200 }).not.toEqual([]);
}

export const failureOf = async (attempt: Promise<unknown>): Promise<unknown> =>
  await attempt.then(
    () => undefined,
    (error: unknown) => error,
  );
