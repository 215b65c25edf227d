import type { Pool, PoolConnection, RowDataPacket } from 'mysql2/promise';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  ClosedError,
  OptionError,
  OutcomeUnknownError,
  RecordCorruptError,
  SequenceReusedError,
  StaleTermError,
  StoreRefusedError,
  UnreachableError,
} from '../../../src/errors/index.js';
import { freshName, Gate, tokenOf } from '../../../src/fences/conformance/scenario.js';
import {
  type MysqlFence,
  type MysqlFenceOptions,
  type MysqlQueryable,
  mysqlFence,
} from '../../../src/fences/mysql/index.js';
import { abuseFence, type Meddling, wrongDigests, wrongTerms } from '../../fuzz/fence-scene.js';
import { useHostileAtFence } from '../../fuzz/hostile-use.js';
import { type MariaDbServer, startMariaDb } from '../../support/servers/index.js';
import { openPool, prepare, put, readData, runSql } from './subject.js';

let server: MariaDbServer;
let pool: Pool;
let fence: MysqlFence<PoolConnection>;

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

type Token = ReturnType<typeof tokenOf>;

/** Everything of a session that the fence changes while it is at work. */
const settings = `SELECT @@autocommit AS autocommit, @@tx_isolation AS isolation, @@innodb_lock_wait_timeout AS wait,
  @@idle_write_transaction_timeout AS idleWrite, @@idle_readonly_transaction_timeout AS idleRead,
  @@idle_transaction_timeout AS idle, @tenure_autocommit AS left1, @tenure_isolation AS left2, @tenure_lock_wait AS left3,
  @tenure_idle_write AS left4, @tenure_idle_read AS left5`;

async function settingsOf(connection: PoolConnection): Promise<unknown> {
  const [[row]] = await connection.query<RowDataPacket[]>(settings);
  return { ...row };
}

/** A connection of the user's, ended in any case. */
async function withConnection<Result>(
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
async function untilSomebodyWaits(): Promise<void> {
  const waits = () => runSql(server.url, 'SELECT 1 FROM information_schema.INNODB_LOCK_WAITS');
  // The server makes a new list only when none was asked for in the last 100 ms.
  await expect.poll(waits, { timeout: 10_000, interval: 200 }).not.toEqual([]);
}

const failureOf = async (attempt: Promise<unknown>): Promise<unknown> =>
  await attempt.then(
    () => undefined,
    (error: unknown) => error,
  );

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

  it('lets a claim through a steady stream of overlapping writers', {
    timeout: 20_000,
  }, async () => {
    const name = freshName('stream');
    const old = tokenOf(name, 5);
    await fence.claim(old);
    let isOver = false;
    const refused: unknown[] = [];
    const writer = async () => {
      while (!isOver) {
        const write = fence.transaction(old, async (connection) => {
          await connection.query('SELECT SLEEP(0.1)');
        });
        await write.catch((error: unknown) => {
          refused.push(error);
          isOver = true;
        });
      }
    };
    const writers = Array.from({ length: 7 }, async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * 10));
      await writer();
    });
    const startedAtMs = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 100));
    await fence.claim(tokenOf(name, 6));
    expect(performance.now() - startedAtMs).toBeLessThan(3000);
    await Promise.all(writers);
    expect(refused[0]).toBeInstanceOf(StaleTermError);
  });

  it('refuses an old owner at once, however long the newest one is at work', async () => {
    const name = freshName('at-once');
    const owner = tokenOf(name, 5);
    await fence.claim(owner);
    const gate = new Gate();
    const open = withConnection(async (connection) => {
      await connection.query('START TRANSACTION');
      await fence.check(connection, owner);
      await gate.pass();
    });
    await gate.reached;
    const refusals = [
      await failureOf(fence.claim(tokenOf(name, 4))),
      await withConnection(async (connection) => {
        await connection.query('START TRANSACTION');
        return await failureOf(fence.check(connection, tokenOf(name, 4)));
      }),
    ];
    gate.open();
    await open;
    for (const refusal of refusals) expect(refusal).toBeInstanceOf(StaleTermError);
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
    const scope = freshName('forget');
    const token = tokenOf(scope, 5);
    const record = (seq: number) =>
      fence.transaction(token, (open) => fence.recordOnce(open, scope, 'key', seq, `m${seq}`));
    while ((await fence.forgetEffects(0)) > 0);
    await record(1);
    await runSql(
      server.url,
      'UPDATE tenure.effects SET recorded_at = recorded_at - INTERVAL 2 HOUR',
    );
    await record(2);
    expect(await fence.forgetEffects(3_600_000)).toBe(1);
    expect(await fence.forgetEffects(3_600_000)).toBe(0);
    expect([await record(1), await record(2)]).toEqual([true, false]);
    await expect(fence.forgetEffects(-1)).rejects.toBeInstanceOf(OptionError);
  });
});

describe('a check at REPEATABLE READ', () => {
  const begin = async (connection: PoolConnection) => {
    await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    await connection.query('START TRANSACTION');
  };

  it('refuses a transaction that has read before its own term was installed', async () => {
    const name = freshName('snapshot');
    await fence.claim(tokenOf(name, 5));
    const token = tokenOf(name, 6);
    await withConnection(async (connection) => {
      await begin(connection);
      await connection.query('SELECT * FROM app.data');
      await fence.claim(token);
      const refusal = await failureOf(fence.check(connection, token));
      expect(refusal).toBeInstanceOf(StoreRefusedError);
      expect(refusal).toMatchObject({ storeCode: 'OLD_SNAPSHOT' });
    });
  });

  it('sees a newer owner all the same, whatever it has read before', async () => {
    const name = freshName('newer');
    const old = tokenOf(name, 5);
    await fence.claim(old);
    await withConnection(async (connection) => {
      await begin(connection);
      await connection.query('SELECT * FROM app.data');
      await fence.claim(tokenOf(name, 6));
      expect(await failureOf(fence.check(connection, old))).toBeInstanceOf(StaleTermError);
    });
  });

  it("that installs a term reads what the predecessor's last transaction wrote", async () => {
    const name = freshName('install');
    const old = tokenOf(name, 5);
    await fence.claim(old);
    const patient = mysqlFence<PoolConnection>(pool);
    const gate = new Gate();
    const last = patient.transaction(old, async (connection) => {
      await gate.pass();
      await put(connection, name, 'last');
    });
    await gate.reached;
    const seen = withConnection(async (connection) => {
      await begin(connection);
      await patient.check(connection, tokenOf(name, 6));
      const question = 'SELECT value FROM app.data WHERE `key` = ?';
      const [rows] = await connection.query<RowDataPacket[]>(question, [name]);
      await connection.query('COMMIT');
      return rows;
    });
    // The check stands in the queue while the predecessor has yet to write.
    await untilSomebodyWaits();
    gate.open();
    await last;
    expect(await seen).toEqual([{ value: 'last' }]);
    expect(await fence.installedTerm(name)).toBe(6);
  });
});

describe('a check or a record of the MySQL fence', () => {
  const steps = {
    check: (on: MysqlQueryable, name: string) => fence.check(on, tokenOf(name, 5)),
    record: (on: MysqlQueryable, name: string) => fence.recordOnce(on, name, 'key', 1, 'm1'),
  };

  it.each(['check', 'record'] as const)('(%s) is refused outside a transaction', async (step) => {
    const name = freshName('outside');
    await withConnection(async (connection) => {
      const was = await settingsOf(connection);
      const callbacks = Object(connection).connection;
      const disguised = {
        query: (statement: never) => pool.query(statement),
        execute: (statement: never) => pool.execute(statement),
      } as unknown as MysqlQueryable;
      const nothing = undefined as never;
      for (const target of [connection, pool, Object(pool).pool, callbacks, disguised, nothing]) {
        expect(await failureOf(steps[step](target, name))).toBeInstanceOf(OptionError);
      }
      await expect(steps[step](connection, name)).rejects.toThrow(/START TRANSACTION/);
      expect(await settingsOf(connection)).toEqual(was);
      // The same connection is taken inside a transaction, and what went wrong before has left nothing.
      await connection.query('START TRANSACTION');
      await steps[step](connection, name);
      await connection.query('COMMIT');
    });
    expect(await fence.installedTerm(name)).toBe(step === 'check' ? 5 : undefined);
  });

  it.each(['check', 'record'] as const)(
    '(%s) is refused where nothing tells whether there is a transaction',
    async (step) => {
      const name = freshName('mute');
      await withConnection(async (connection) => {
        await connection.query('START TRANSACTION');
        const mute = {
          query: async (statement: never) => {
            const [answer, fields] = await connection.query(statement);
            return [Array.isArray(answer) ? answer : { affectedRows: 0 }, fields];
          },
          execute: (statement: never) => connection.execute(statement),
        } as unknown as MysqlQueryable;
        await expect(steps[step](mute, name)).rejects.toThrow(/`serverStatus`/);
        expect(await failureOf(put(connection, name, 'unguarded'))).toBeDefined();
      });
    },
  );

  it('inside a transaction of another fence leaves its session as it was', async () => {
    const name = freshName('nested');
    const small = openPool(server.url, { connectionLimit: 1 });
    const settingsNow = async () => {
      const connection = await small.getConnection();
      const settings = await settingsOf(connection);
      connection.release();
      return settings;
    };
    const was = await settingsNow();
    const outer = mysqlFence<PoolConnection>(small);
    await outer.transaction(tokenOf(name, 5), async (connection) => {
      await fence.check(connection, tokenOf(`${name}/other`, 5));
      await fence.recordOnce(connection, name, 'key', 1, 'm1');
    });
    expect(await settingsNow()).toEqual(was);
    await small.end();
  });

  it('takes a session that does not commit by itself for a transaction', async () => {
    const name = freshName('implicit');
    await withConnection(async (connection) => {
      await connection.query('SET autocommit = 0');
      await fence.check(connection, tokenOf(name, 5));
      await put(connection, name, 'guarded');
      expect(await fence.installedTerm(name)).toBeUndefined();
      await connection.query('COMMIT');
    });
    expect(await fence.installedTerm(name)).toBe(5);
    expect(await readData(server.url, name)).toBe('guarded');
  });

  /** What the step failed with, after the caller ignored that, wrote on and committed. */
  async function swallowing(name: string, step: (on: PoolConnection) => Promise<unknown>) {
    return await withConnection(async (connection) => {
      await connection.query('START TRANSACTION');
      await put(connection, name, 'unguarded');
      const failure = await failureOf(step(connection));
      expect(await failureOf(put(connection, `${name}/after`, 'unguarded'))).toMatchObject({
        code: 'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION',
      });
      await connection.query('COMMIT');
      return failure;
    });
  }

  it('that fails for any reason cannot be swallowed and committed, nor what is written after it', async () => {
    const name = freshName('spoilt');
    const token = tokenOf(name, 5);
    const closed = mysqlFence(pool);
    await closed.close();
    await runSql(server.url, 'ALTER TABLE tenure.fences DROP CONSTRAINT IF EXISTS term');
    const failures = [
      await swallowing(name, (on) => fence.check(on, { ...token, term: 0 })),
      await swallowing(name, (on) => closed.check(on, token)),
      await swallowing(name, (on) => closed.recordOnce(on, name, 'key', 1, 'm1')),
      await swallowing(name, (on) => fence.recordOnce(on, name, '', 1, 'm1')),
    ];
    const classes = [OptionError, ClosedError, ClosedError, OptionError];
    for (const [index, failure] of failures.entries())
      expect(failure, `${index}`).toBeInstanceOf(classes[index]);
    await runSql(server.url, 'SET GLOBAL check_constraint_checks = 0');
    await runSql(
      server.url,
      `INSERT INTO tenure.fences VALUES ('${name}', 9000000000000000, 'nobody', NOW(6))`,
    );
    await runSql(server.url, 'SET GLOBAL check_constraint_checks = 1');
    const corrupt = await swallowing(name, (on) => fence.check(on, token));
    expect(corrupt).toBeInstanceOf(RecordCorruptError);
    expect(await readData(server.url, name)).toBeUndefined();
    expect(await readData(server.url, `${name}/after`)).toBeUndefined();
  });

  it('keeps hostile names, keys and ids apart, in a database whose name is a word of SQL', async () => {
    const guarding = mysqlFence(server.url, { database: 'select', timeoutMs: 30_000 });
    await guarding.migrate();
    await useHostileAtFence(guarding);
    await guarding.close();
  });

  it('lets nobody pass by a row that somebody meddled with, and is told with its remedy', async () => {
    const database = 'meddled';
    await prepare(server.url, { database });
    // As a stranger makes it: nothing is checked, and nothing need be there.
    await runSql(server.url, `DROP TABLE ${database}.fences`);
    await runSql(
      server.url,
      `CREATE TABLE ${database}.fences (name varbinary(255) PRIMARY KEY, term double, holder_digest text, installed_at datetime(6)) ENGINE = InnoDB`,
    );
    const set = (column: string, spoils: Meddling['spoils']) => (value: string) => ({
      what: `${column} = ${value}`,
      spoils,
      spoil: (name: string) =>
        pool.query(`UPDATE ${database}.fences SET ${column} = ${value} WHERE name = ?`, [name]),
    });
    const guarding = mysqlFence(pool, { database, timeoutMs: 30_000 });
    const wrong = await abuseFence<PoolConnection>({
      fence: guarding,
      width: 8,
      meddlings: [
        ...[...wrongTerms, '7.5', '1e300', '-1e300'].map(set('term', 'term')),
        ...[...wrongDigests, 'NULL'].map(set('holder_digest', 'holder')),
      ],
      write: put,
      read: async (key) => {
        const text = 'SELECT value FROM app.data WHERE `key` = ?';
        const [[row]] = await pool.query<RowDataPacket[]>(text, [key]);
        return row?.value;
      },
      recordOf: (name) => `the row of "${name}" in \`${database}\`.fences`,
    });
    await guarding.close();
    expect(wrong).toEqual([]);
  });

  it('that fails in a transaction of the fence is found at its end', async () => {
    const name = freshName('hosted');
    const attempt = fence.transaction(tokenOf(name, 5), async (connection) => {
      await put(connection, name, 'unguarded');
      await failureOf(fence.check(connection, tokenOf(name, 4)));
    });
    const failure = await failureOf(attempt);
    expect(failure).toBeInstanceOf(StoreRefusedError);
    expect(String(failure)).toMatch(/its error was not passed on/);
    expect(failure).toMatchObject({ cause: expect.any(StaleTermError) });
    expect(await readData(server.url, name)).toBeUndefined();
  });

  it('that gets no answer in time cannot be swallowed either, and does not speak of a lost connection', async () => {
    const name = freshName('late');
    const old = tokenOf(name, 5);
    await fence.claim(old);
    const patient = mysqlFence<PoolConnection>(pool);
    const gate = new Gate();
    const open = patient.transaction(old, () => gate.pass());
    await gate.reached;
    const hasty = mysqlFence(pool, {
      idleInTransactionTimeoutMs: 1000,
      waitTimeoutMs: 2000,
      timeoutMs: 100,
    });
    // The session would wait for 50 seconds.
    const failure = await swallowing(name, async (connection) => {
      const late = await failureOf(hasty.check(connection, tokenOf(name, 6)));
      gate.open();
      throw late;
    });
    await open;
    expect(failure).toBeInstanceOf(UnreachableError);
    expect(String(failure)).toMatch(/gave no answer. Roll the transaction back/);
    expect(await readData(server.url, name)).toBeUndefined();
    expect(await fence.installedTerm(name)).toBe(5);
  });

  it('that finds its connection closed says so, be it the first to find out or not', async () => {
    const name = freshName('closed');
    for (const isKnown of [false, true]) {
      const attempt = fence.transaction(tokenOf(name, 5), async (connection) => {
        const gone = new Promise((resolve) => connection.once('error', resolve));
        if (!isKnown) Object(connection).connection.stream.pause();
        await runSql(server.url, `KILL ${connection.threadId}`);
        if (isKnown) await gone;
        const recorded = fence.recordOnce(connection, 'scope', name, 1, 'one');
        if (!isKnown) Object(connection).connection.stream.resume();
        await recorded;
      });
      const failure = await failureOf(attempt);
      expect(failure).toBeInstanceOf(UnreachableError);
      expect(String(failure)).toMatch(/its connection was closed.*nothing was written/);
    }
  });

  it('of a number that was used twice may be caught, and something else kept', async () => {
    const name = freshName('caught');
    const token = tokenOf(name, 5);
    const record = (connection: PoolConnection, id: string) =>
      fence.recordOnce(connection, name, 'key', 1, id);
    await fence.transaction(token, (connection) => record(connection, 'm1'));
    await fence.transaction(token, async (connection) => {
      expect(await failureOf(record(connection, 'm2'))).toBeInstanceOf(SequenceReusedError);
      await put(connection, name, 'put aside');
    });
    expect(await readData(server.url, name)).toBe('put aside');
  });

  it.each(['COMMIT', 'ROLLBACK'])(
    'of an effect waits for another that has not ended, until its %s',
    async (end) => {
      const name = freshName('record-waits');
      await withConnection(async (first) => {
        await first.query('START TRANSACTION');
        expect(await fence.recordOnce(first, name, 'key', 1, 'm1')).toBe(true);
        let isAnswered = false;
        const second = withConnection(async (connection) => {
          // With a snapshot in which there is no such record.
          await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
          const isNew = await fence.recordOnce(connection, name, 'key', 1, 'm1');
          isAnswered = true;
          return isNew;
        });
        await untilSomebodyWaits();
        expect(isAnswered).toBe(false);
        await first.query(end);
        expect(await second).toBe(end === 'ROLLBACK');
      });
    },
  );
});

describe("the user's pool", () => {
  const odd: [string, object][] = [
    ['rows as arrays, and no casts', { rowsAsArray: true, typeCast: false }],
    ['nested rows', { nestTables: '_' }],
    ['named placeholders', { namedPlaceholders: true }],
    ['numbers as texts', { supportBigNumbers: true, bigNumberStrings: true, dateStrings: true }],
    ['another character set', { charset: 'latin1' }],
    ['several statements', { multipleStatements: true }],
    ['no count of found rows', { flags: ['-FOUND_ROWS'] }],
  ];
  it.each(odd)('may be set to %s', async (_title, options) => {
    const strange = openPool(server.url, options);
    const onStrange = mysqlFence<PoolConnection>(strange);
    const name = `${freshName('odd')}/é'\\ " ; -- 漢`;
    await onStrange.claim(tokenOf(name, 5));
    const token = tokenOf(name, 8_640_000_000_000_000);
    await onStrange.claim(token);
    expect(await fence.installedTerm(name)).toBe(8_640_000_000_000_000);
    expect(await failureOf(onStrange.claim(tokenOf(name, 7)))).toBeInstanceOf(StaleTermError);
    const record = (id: string) =>
      onStrange.transaction(token, (open) => onStrange.recordOnce(open, name, "k'\\é", 1, id));
    expect([await record("m'\\é"), await record("m'\\é")]).toEqual([true, false]);
    expect(await failureOf(record('m'))).toBeInstanceOf(SequenceReusedError);
    await withConnection(async (connection) => {
      await connection.query('START TRANSACTION');
      await onStrange.check(connection, token);
      await connection.query('COMMIT');
    }, strange);
    await strange.end();
  });

  it.each(['NO_BACKSLASH_ESCAPES,ANSI_QUOTES', 'ORACLE', 'TRADITIONAL', ''])(
    'may have sql_mode %j, if that shows the engine of a table',
    async (mode) => {
      const strange = openPool(server.url, { connectionLimit: 1 });
      await strange.query(`SET sql_mode = '${mode}'`);
      const onStrange = mysqlFence<PoolConnection>(strange);
      const name = `${freshName('mode')}/"'\\`;
      const failure = await failureOf(onStrange.claim(tokenOf(name, 5)));
      if (mode === 'ORACLE') expect(String(failure)).toMatch(/NO_TABLE_OPTIONS/);
      else expect(await fence.installedTerm(name)).toBe(5);
      await strange.end();
    },
  );

  it('has to be one of promises', () => {
    expect(() => mysqlFence(Object(pool).pool)).toThrow(/pool\.promise\(\)/);
  });

  it('is not confused with one that the fence opens', async () => {
    expect(() => mysqlFence(pool, { maxConnections: 5 })).toThrow(/set `connectionLimit`/);
    for (const maxConnections of [0, 1.5, 1001, '5', Number.NaN]) {
      const options = { maxConnections } as MysqlFenceOptions;
      expect(() => mysqlFence(server.url, options)).toThrow(OptionError);
    }
    const name = freshName('pool');
    const token = tokenOf(name, 5);
    const small = mysqlFence(server.url, { maxConnections: 2, timeoutMs: 1000 });
    await small.claim(token);
    const gates = [new Gate(), new Gate()];
    const open = gates.map((gate) => small.transaction(token, () => gate.pass()));
    await Promise.all(gates.map(({ reached }) => reached));
    await expect(small.claim(token)).rejects.toThrow(/every connection of the pool is in use/);
    for (const gate of gates) gate.open();
    await Promise.all(open);
    await small.close();
  });
});
