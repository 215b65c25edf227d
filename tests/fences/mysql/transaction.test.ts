import type { PoolConnection, PreparedStatementInfo, RowDataPacket } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import {
  ClosedError,
  OutcomeUnknownError,
  StaleTermError,
  StoreRefusedError,
  UnreachableError,
} from '../../../src/errors/index.js';
import { freshName, Gate, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { type MysqlFence, mysqlFence } from '../../../src/fences/mysql/index.js';
import { forgetsOldEffects } from '../stored-fences.js';
import {
  failureOf,
  fence,
  pool,
  server,
  settingsOf,
  type Token,
  useMariaDb,
  withConnection,
} from './stage.js';
import { openPool, put, readData, runSql } from './subject.js';

useMariaDb();

describe('a transaction under the MySQL fence', () => {
  it('gives the connection back as it was, with no listener of ours left on it', async () => {
    const name = freshName('reuse');
    const token = tokenOf(name, 5);
    const small = openPool(server.url, { connectionLimit: 1 });
    const onSmall = mysqlFence<PoolConnection>(small);
    const before = await small.getConnection();
    const { threadId } = before;
    await before.query('SET tx_isolation = SERIALIZABLE, innodb_lock_wait_timeout = 7');
    await before.query('SET idle_readonly_transaction_timeout = 77');
    const was = await settingsOf(before);
    before.release();
    await onSmall.claim(token);
    await onSmall.transaction(token, (connection) => put(connection, name, 'kept'));
    expect(await failureOf(onSmall.claim(tokenOf(name, 4)))).toBeInstanceOf(StaleTermError);
    const failure = new Error('mine');
    const attempt = onSmall.transaction(token, async () => await Promise.reject(failure));
    expect(await failureOf(attempt)).toBe(failure);
    expect(await onSmall.installedTerm(name)).toBe(5);
    const after = await small.getConnection();
    expect(after.threadId).toBe(threadId);
    expect(await settingsOf(after)).toEqual(was);
    const listeners = Object(after).connection.listenerCount('error');
    expect(listeners).toBe(Object(before).connection.listenerCount('error'));
    after.release();
    await small.end();
  });

  it("never closes the user's pool", async () => {
    await fence.close();
    expect(await failureOf(fence.claim(tokenOf('closed', 1)))).toBeInstanceOf(ClosedError);
    expect((await pool.query('SELECT 1 AS one'))[0]).toEqual([{ one: 1 }]);
  });

  it('lets the error of the work through even if the rollback fails', async () => {
    const failure = new Error('mine');
    const attempt = fence.transaction(tokenOf(freshName('mask'), 5), async (connection) => {
      const gone = new Promise((resolve) => connection.once('error', resolve));
      await runSql(server.url, `KILL ${connection.threadId}`);
      await gone;
      throw failure;
    });
    expect(await failureOf(attempt)).toBe(failure);
  });

  it.each([
    'COMMIT',
    'COMMIT; START TRANSACTION',
    'COMMIT AND CHAIN',
    'ROLLBACK',
    'ROLLBACK AND CHAIN',
    'CREATE TABLE app.ddl (a int)',
  ])('finds out that the work ended it by %s, and drops what came after', async (text) => {
    const name = freshName('ended');
    const attempt = fence.transaction(tokenOf(name, 5), async (connection) => {
      await put(connection, `${name}/before`, 'there');
      for (const one of text.split('; ')) await connection.query(one);
      await put(connection, name, 'unguarded');
    });
    const failure = await failureOf(attempt);
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    expect(String(failure)).toMatch(/ended the transaction itself/);
    expect(await readData(server.url, name)).toBeUndefined();
    const isCommitted = !text.startsWith('ROLLBACK');
    expect(await readData(server.url, `${name}/before`)).toBe(isCommitted ? 'there' : undefined);
  });

  const mine = new Error('mine');
  it.each([
    ['COMMIT', 'throws'],
    ['COMMIT; START TRANSACTION', 'throws'],
    ['CREATE TABLE app.implied (a int)', 'throws'],
    ['CREATE TABLE app.data (a int)', 'passes the error on'],
    ['TRUNCATE TABLE app.nowhere', 'passes the error on'],
    ['COMMIT; SELECT * FROM app.nowhere', 'passes the error on'],
  ])('never says that nothing was written after %s, if the work then %s', async (text, how) => {
    const name = freshName('commits');
    const token = tokenOf(name, 5);
    let thrown: unknown = mine;
    const attempt = fence.transaction(token, async (connection) => {
      await put(connection, name, 'there');
      for (const one of text.split('; ')) {
        await connection.query(one).catch((error: unknown) => {
          thrown = error;
          throw error;
        });
      }
      throw mine;
    });
    const failure = await failureOf(attempt);
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    expect(thrown === mine).toBe(how === 'throws');
    expect(String(failure)).toMatch(/ended the transaction itself/);
    const { code, message } = Object(thrown);
    expect(Object(failure).cause).toMatchObject(code === undefined ? { message } : { code });
    expect(await readData(server.url, name)).toBe('there');
    await fence.transaction(token, async () => {});
  });

  it.each(['throws its own error', 'has a statement that fails', 'passes a failed check on'])(
    'passes on what work that %s throws, and keeps the connection',
    async (how) => {
      const name = freshName('fails');
      const small = openPool(server.url, { connectionLimit: 1 });
      const onSmall = mysqlFence(small);
      let threadId: number | undefined;
      let thrown: unknown;
      const attempt = onSmall.transaction(tokenOf(name, 5), async (connection) => {
        threadId = connection.threadId;
        await put(connection, name, 'lost');
        const step =
          how === 'throws its own error'
            ? Promise.reject(mine)
            : how === 'has a statement that fails'
              ? connection.query('SELECT * FROM app.nowhere')
              : onSmall.check(connection, tokenOf(name, 4));
        await step.catch((error: unknown) => {
          thrown = error;
          throw error;
        });
      });
      const failure = await failureOf(attempt);
      expect(failure).toBeDefined();
      expect(failure).toBe(thrown);
      expect(await readData(server.url, name)).toBeUndefined();
      expect(await withConnection(async (next) => next.threadId, small)).toBe(threadId);
      await small.end();
    },
  );

  it.each([
    ['a transaction', (one: MysqlFence, token: Token) => one.transaction(token, async () => {})],
    ['a claim', (one: MysqlFence, token: Token) => one.claim(token)],
    ['a look', (one: MysqlFence, { name }: Token) => one.installedTerm(name)],
    ['a migration', (one: MysqlFence) => one.migrate()],
  ])(
    'commits nothing of what a released connection left open, by %s, and says so',
    async (_, step) => {
      const name = freshName('left-open');
      const token = tokenOf(name, 5);
      const small = openPool(server.url, { connectionLimit: 1 });
      const onSmall: MysqlFence = mysqlFence(small);
      await onSmall.claim(token);
      const connection = await small.getConnection();
      await connection.query('START TRANSACTION');
      await put(connection, name, 'unchecked');
      connection.release();
      const failure = await failureOf(step(onSmall, token));
      expect(failure).toBeInstanceOf(StoreRefusedError);
      expect(failure).toMatchObject({ storeCode: 'LEFT_OPEN' });
      expect(await readData(server.url, name)).toBeUndefined();
      await step(onSmall, token);
      expect(await readData(server.url, name)).toBeUndefined();
      await small.end();
    },
  );

  it.each(['swallowed', 'passed on'])(
    'commits nothing after a deadlock whose error was %s',
    async (how) => {
      const name = freshName('deadlock');
      const token = tokenOf(name, 5);
      await fence.claim(token);
      for (const side of ['a', 'b']) {
        await withConnection((connection) => put(connection, `${name}/${side}`, 'old'));
      }
      const gates = [new Gate(), new Gate()] as const;
      const cross = (mine: string, theirs: string, gate: Gate) =>
        fence.transaction(token, async (connection) => {
          await put(connection, `${name}/${mine}`, mine);
          await gate.pass();
          await put(connection, `${name}/${theirs}`, mine).catch((error: unknown) => {
            if (how === 'passed on') throw error;
          });
          await put(connection, `${name}/after-${mine}`, 'written');
        });
      const both = [cross('a', 'b', gates[0]), cross('b', 'a', gates[1])].map(failureOf);
      await Promise.all(gates.map(({ reached }) => reached));
      for (const gate of gates) gate.open();
      const failures = (await Promise.all(both)).filter((failure) => failure !== undefined);
      expect(failures).toHaveLength(1);
      if (how === 'swallowed') expect(failures[0]).toBeInstanceOf(OutcomeUnknownError);
      else expect(failures[0]).toMatchObject({ code: 'ER_LOCK_DEADLOCK' });
      const written = [
        await readData(server.url, `${name}/after-a`),
        await readData(server.url, `${name}/after-b`),
      ];
      expect(written.filter((value) => value === 'written')).toHaveLength(1);
    },
  );

  it.each([
    'COMMIT',
    'COMMIT; START TRANSACTION',
    'COMMIT AND CHAIN',
    'CREATE TABLE app.before_deadlock (a int)',
    'SET autocommit = 1',
  ])(
    'never says that nothing was written after %s, if a deadlock or a lock then ends what came next',
    async (text) => {
      for (const failing of ['ER_LOCK_DEADLOCK', 'ER_LOCK_WAIT_TIMEOUT']) {
        const name = freshName('commits');
        const token = tokenOf(name, 5);
        await fence.claim(token);
        await withConnection((connection) => put(connection, `${name}/a`, 'old'));
        await withConnection((connection) => put(connection, `${name}/b`, 'old'));
        await runSql(server.url, 'DROP TABLE IF EXISTS app.before_deadlock');
        const other = await pool.getConnection();
        await other.query('START TRANSACTION');
        await put(other, `${name}/b`, 'theirs');
        let crossing: Promise<unknown> | undefined;
        const attempt = fence.transaction(token, async (connection) => {
          await put(connection, name, 'there');
          for (const one of text.split('; ')) await connection.query(one);
          await connection.query('SET innodb_lock_wait_timeout = 1');
          if (failing === 'ER_LOCK_DEADLOCK') {
            if (text.endsWith('= 1')) await connection.query('START TRANSACTION');
            await put(connection, `${name}/a`, 'mine');
            // Theirs has written more, so that the server ends ours.
            for (let row = 0; row < 20; row++) await put(other, `${name}/more-${row}`, 'theirs');
            crossing = put(other, `${name}/a`, 'theirs');
          }
          await put(connection, `${name}/b`, 'mine');
        });
        const failure = await failureOf(attempt);
        expect(failure).toBeInstanceOf(OutcomeUnknownError);
        expect(Object(failure).cause).toMatchObject({ code: failing });
        expect(await readData(server.url, name)).toBe('there');
        await crossing;
        await other.query('ROLLBACK');
        other.release();
        await fence.transaction(token, async () => {});
      }
    },
  );

  it('refuses a constraint of the work without showing the row, and leaves nothing', async () => {
    const name = freshName('own-error');
    const attempt = fence.transaction(tokenOf(name, 5), async (connection) => {
      await connection.query('SELECT * FROM app.nowhere');
    });
    // The error of the work comes through as it is.
    expect(await failureOf(attempt)).toMatchObject({ code: 'ER_NO_SUCH_TABLE' });
    expect(await fence.installedTerm(name)).toBeUndefined();
  });

  it('runs at READ COMMITTED, whatever the session has, and needs no autocommit', async () => {
    for (const isolation of ['SERIALIZABLE', 'REPEATABLE-READ']) {
      const strict = openPool(server.url, { connectionLimit: 1 });
      const connection = await strict.getConnection();
      await connection.query(`SET tx_isolation = '${isolation}', autocommit = 0`);
      // A snapshot that is older than the claim, left open.
      if (isolation !== 'SERIALIZABLE') await connection.query('SELECT * FROM tenure.fences');
      connection.release();
      const name = freshName('isolation');
      const onStrict = mysqlFence<PoolConnection>(strict);
      await fence.claim(tokenOf(name, 4));
      expect(await onStrict.installedTerm(name)).toBe(4);
      await onStrict.transaction(tokenOf(name, 5), async (open) => {
        await put(open, name, 'one');
        expect(await settingsOf(open)).toMatchObject({ isolation: 'READ-COMMITTED' });
        await withConnection((other) => put(other, `${name}/other`, 'seen'));
        const question = 'SELECT value FROM app.data WHERE `key` = ?';
        const [rows] = await open.query<RowDataPacket[]>(question, [`${name}/other`]);
        expect(rows).toEqual([{ value: 'seen' }]);
      });
      expect(await readData(server.url, name)).toBe('one');
      await strict.end();
    }
  });

  it('keeps a shorter idle limit of the session and lowers a longer or absent one', async () => {
    const limitUnder = async (setting: string) =>
      await withConnection(async (connection) => {
        await connection.query(`SET ${setting}`);
        await connection.query('START TRANSACTION');
        const longer = mysqlFence<PoolConnection>(pool, { idleInTransactionTimeoutMs: 20_000 });
        await longer.check(connection, tokenOf(freshName('limit'), 5));
        const { idleWrite, idleRead } = Object(await settingsOf(connection));
        return [idleWrite, idleRead];
      });
    expect(await limitUnder('@nothing = 1')).toEqual([20, 20]);
    expect(await limitUnder('idle_transaction_timeout = 10')).toEqual([10, 10]);
    expect(await limitUnder('idle_transaction_timeout = 100')).toEqual([20, 20]);
    expect(await limitUnder('idle_write_transaction_timeout = 10')).toEqual([10, 20]);
    expect(await limitUnder('idle_readonly_transaction_timeout = 86400')).toEqual([20, 20]);
    expect(await limitUnder('wait_timeout = 15')).toEqual([15, 15]);
  });

  it('ends an owner that idles too long, which is told that nothing was written', async () => {
    const name = freshName('idle');
    const attempt = fence.transaction(tokenOf(name, 5), async (connection) => {
      await put(connection, name, 'too late');
      await new Promise((resolve) => connection.once('error', resolve));
    });
    const failure = await failureOf(attempt);
    expect(failure).toBeInstanceOf(UnreachableError);
    expect(String(failure)).toMatch(/stands open without a statement/);
    expect(await readData(server.url, name)).toBeUndefined();
  });

  it('says so of an owner whose work meets that, with what it met', async () => {
    const name = freshName('idle');
    const attempt = fence.transaction(tokenOf(name, 5), async (connection) => {
      await put(connection, name, 'too late');
      await new Promise((resolve) => connection.once('error', resolve));
      await connection.query('SELECT 1');
    });
    const failure = await failureOf(attempt);
    expect(failure).toBeInstanceOf(UnreachableError);
    expect(String(failure)).toMatch(/longer than idleInTransactionTimeoutMs.*nothing was written/);
    expect(String(Object(failure).cause)).toContain("Can't add new command");
    expect(await readData(server.url, name)).toBeUndefined();
    const layer = fence.transaction(tokenOf(name, 5), async (connection) => {
      const killed = connection.query(`KILL ${connection.threadId}`);
      const lost = await killed.catch((cause) => new Error('no order', { cause }));
      await connection.query('SELECT 1').catch(() => {});
      throw lost;
    });
    const lost = await failureOf(layer);
    expect(lost).toBeInstanceOf(UnreachableError);
    expect(lost).toMatchObject({ cause: { message: 'no order' } });
  });

  it('lets an error of the work through that says nothing of its connection', async () => {
    const name = freshName('own');
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    const other = fence.transaction(tokenOf(name, 5), () => Promise.reject(reset));
    expect(await failureOf(other)).toBe(reset);
    const own = new Error('mine');
    const gone = fence.transaction(tokenOf(name, 5), async (connection) => {
      await connection.query(`KILL ${connection.threadId}`).catch(() => {});
      throw own;
    });
    expect(await failureOf(gone)).toBe(own);
  });

  it('takes nothing more from work that was not awaited, and leaves the connection to others', async () => {
    const single = openPool(server.url, { connectionLimit: 1 });
    const onSingle = mysqlFence<PoolConnection>(single);
    const token = tokenOf(freshName('late'), 5);
    for (const fails of [false, true]) {
      const name = freshName('late');
      let kept: PoolConnection | undefined;
      let prepared: PreparedStatementInfo | undefined;
      let query: ((text: string) => Promise<unknown>) | undefined;
      const done = onSingle.transaction(token, async (connection) => {
        kept = connection;
        prepared = await connection.prepare('SELECT 1');
        query = connection.query.bind(connection);
        await put(connection, name, 'in time');
        if (fails) throw new Error('mine');
      });
      expect(await failureOf(done)).toEqual(fails ? new Error('mine') : undefined);
      const late = kept as PoolConnection;
      const next = await single.getConnection();
      for (const send of [
        () => put(late, name, 'late'),
        () => late.execute('SELECT 1'),
        () => late.beginTransaction(),
        () => late.commit(),
        () => prepared?.execute([]) ?? Promise.resolve(),
        () => query?.('SELECT 1') ?? Promise.resolve(),
        () => onSingle.check(late, token),
      ])
        expect(await failureOf(send())).toMatchObject({ code: 'TENURE_CLOSED' });
      late.release();
      late.destroy();
      expect(await next.query('SELECT 1 AS one')).toMatchObject([[{ one: 1 }], {}]);
      next.release();
      expect(await readData(server.url, name)).toBe(fails ? undefined : 'in time');
    }
    await single.end();
  });

  it('takes a statement that comes while it commits for one that comes too late', async () => {
    const name = freshName('committing');
    let late: Promise<unknown> | undefined;
    await fence.transaction(tokenOf(name, 5), async (connection) => {
      await put(connection, name, 'in time');
      void Promise.resolve().then(() =>
        setImmediate(() => {
          late = failureOf(put(connection, name, 'late'));
        }),
      );
    });
    await expect.poll(() => late).toBeDefined();
    expect(await late).toMatchObject({ code: 'TENURE_CLOSED' });
    expect(await readData(server.url, name)).toBe('in time');
  });

  it('commits though work that was not awaited gives the connection back, or closes it, meanwhile', async () => {
    for (const how of ['release', 'destroy'] as const) {
      const name = freshName(how);
      let isDone = false;
      await fence.transaction(tokenOf(name, 5), async (connection) => {
        await put(connection, name, 'kept');
        void Promise.resolve().then(() =>
          setImmediate(() => {
            connection[how]();
            isDone = true;
          }),
        );
      });
      expect(isDone).toBe(true);
      expect(await readData(server.url, name)).toBe('kept');
    }
  });

  it('may be given the same connection again by a pool that keeps its objects', async () => {
    const kept = await pool.getConnection();
    const release = () => {};
    kept.release = release;
    const keeping = mysqlFence<PoolConnection>({ getConnection: async () => kept } as never);
    const name = freshName('kept');
    const token = tokenOf(name, 5);
    for (const value of ['one', 'two', 'three'])
      await keeping.transaction(token, (connection) => put(connection, name, value));
    expect(await readData(server.url, name)).toBe('three');
    expect(kept.release).toBe(release);
    await kept.query('SELECT 1');
    kept.destroy();
  });

  it('gives up a claim after its wait, and leaves everything as it was', async () => {
    const name = freshName('wait');
    const old = tokenOf(name, 5);
    await fence.claim(old);
    const hasty = mysqlFence(pool, { idleInTransactionTimeoutMs: 1000, waitTimeoutMs: 2000 });
    const patient = mysqlFence<PoolConnection>(pool);
    const gate = new Gate();
    const open = patient.transaction(old, () => gate.pass());
    await gate.reached;
    const refusal = await failureOf(hasty.claim(tokenOf(name, 6)));
    gate.open();
    await open;
    expect(refusal).toMatchObject({ storeCode: 'ER_LOCK_WAIT_TIMEOUT' });
    expect(await fence.installedTerm(name)).toBe(5);
  });

  it('forgets old effects, and only those', async () => {
    const text = 'UPDATE tenure.effects SET recorded_at = recorded_at - INTERVAL 2 HOUR';
    await forgetsOldEffects(fence, () => runSql(server.url, text));
  });
});
