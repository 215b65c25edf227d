import type { PoolConnection, RowDataPacket } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import {
  OptionError,
  RecordCorruptError,
  StaleTermError,
  StoreRefusedError,
  UnreachableError,
} from '../../../src/errors/index.js';
import { freshName, Gate, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { type MysqlQueryable, mysqlFence } from '../../../src/fences/mysql/index.js';
import { abuseFence, type Meddling, wrongDigests, wrongTerms } from '../../fuzz/fence-scene.js';
import { useHostileAtFence } from '../../fuzz/hostile-use.js';
import {
  failureOf,
  fence,
  pool,
  server,
  settingsOf,
  untilSomebodyWaits,
  useMariaDb,
  withConnection,
} from './stage.js';
import { openPool, prepare, put, readData, runSql } from './subject.js';

useMariaDb();

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

  it('that finds no term in the row cannot be swallowed and committed, nor what is written after it', async () => {
    const name = freshName('corrupt');
    await runSql(server.url, 'ALTER TABLE tenure.fences DROP CONSTRAINT IF EXISTS term');
    await runSql(server.url, 'SET GLOBAL check_constraint_checks = 0');
    await runSql(
      server.url,
      `INSERT INTO tenure.fences VALUES ('${name}', 9000000000000000, 'nobody', NOW(6))`,
    );
    await runSql(server.url, 'SET GLOBAL check_constraint_checks = 1');
    const failure = await swallowing(name, (on) => fence.check(on, tokenOf(name, 5)));
    expect(failure).toBeInstanceOf(RecordCorruptError);
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
