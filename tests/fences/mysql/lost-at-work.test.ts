import type { PoolConnection } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import { OutcomeUnknownError, UnreachableError } from '../../../src/errors/index.js';
import { freshName, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { type MysqlFence, mysqlFence } from '../../../src/fences/mysql/index.js';
import { failureOf, fence, pool, server, useMariaDb } from './stage.js';
import { put, readData, runSql } from './subject.js';

useMariaDb();

/** Ends the connection from elsewhere, and waits until its client knows. */
async function lose(connection: PoolConnection): Promise<void> {
  const gone = new Promise((resolve) => connection.once('error', resolve));
  await runSql(server.url, `KILL ${connection.threadId}`);
  await gone;
}

const own = new Error('mine');
type Ending = (connection: PoolConnection) => Promise<unknown>;
const commits: [string, Ending][] = [
  ['says COMMIT', (connection) => connection.query('COMMIT')],
  ['says COMMIT behind a comment', (connection) => connection.query('/* all */ COMMIT')],
  ['calls commit()', (connection) => connection.commit()],
  ['begins another one', (connection) => connection.beginTransaction()],
  ['prepares COMMIT', async (connection) => await (await connection.prepare('COMMIT')).execute([])],
  ['creates a table', (connection) => connection.query('CREATE OR REPLACE TABLE app.made (a int)')],
  ['turns autocommit on', (connection) => connection.query({ sql: 'SET SESSION autocommit = 1' })],
];

describe('the connection of a transaction is lost at work', () => {
  describe.each(commits)('that %s,', (_, end) => {
    it.each([
      ['returns', undefined],
      ['throws', own],
    ])('and %s: the outcome is unknown, and what was written is there', async (_how, thrown) => {
      const name = freshName('own-commit');
      const attempt = fence.transaction(tokenOf(name, 5), async (connection) => {
        await put(connection, name, 'there');
        await end(connection);
        await lose(connection);
        if (thrown !== undefined) throw thrown;
      });
      expect(await failureOf(attempt)).toBeInstanceOf(OutcomeUnknownError);
      expect(await readData(server.url, name)).toBe('there');
    });
  });

  it('that passes on what it met there: likewise', async () => {
    const name = freshName('own-commit');
    const attempt = fence.transaction(tokenOf(name, 5), async (connection) => {
      await put(connection, name, 'there');
      await connection.query('COMMIT');
      await lose(connection);
      await fence.check(connection, tokenOf(name, 5));
    });
    expect(await failureOf(attempt)).toBeInstanceOf(OutcomeUnknownError);
    expect(await readData(server.url, name)).toBe('there');
  });

  it.each([
    ['writes', (connection) => connection.query('SELECT 1; ')],
    ['rolls back', (connection) => connection.query('ROLLBACK')],
    ['sets a variable', (connection) => connection.query('SET @commit = 1')],
  ] as [string, Ending][])('that only %s: nothing was written', async (_, act) => {
    const name = freshName('plain-loss');
    const attempt = fence.transaction(tokenOf(name, 5), async (connection) => {
      await put(connection, name, 'lost');
      await act(connection);
      await lose(connection);
    });
    const failure = await failureOf(attempt);
    expect(failure).toBeInstanceOf(UnreachableError);
    expect(String(failure)).toContain('so nothing was written; try again');
    expect(await readData(server.url, name)).toBeUndefined();
  });

  it('where nobody can see what the work sends: the message says on what that depends', async () => {
    const name = freshName('unseen');
    const wrapped: MysqlFence<PoolConnection> = mysqlFence<PoolConnection>({
      // What is no object of `mysql2/promise` for one checkout.
      getConnection: async () => Object.create(await pool.getConnection(), { constructor: {} }),
    });
    const attempt = wrapped.transaction(tokenOf(name, 5), async (connection) => {
      await put(connection, name, 'there');
      await connection.query('COMMIT');
      await lose(connection);
    });
    const failure = await failureOf(attempt);
    expect(failure).toBeInstanceOf(UnreachableError);
    expect(String(failure)).toContain('unless the work has said COMMIT');
    expect(await readData(server.url, name)).toBe('there');
  });
});
