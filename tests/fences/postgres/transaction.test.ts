import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { ClosedError, StaleTermError, StoreRefusedError } from '../../../src/errors/index.js';
import { freshName, Gate, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { type PostgresFence, postgresFence } from '../../../src/fences/postgres/index.js';
import type { FreshDatabase } from '../../support/servers/index.js';
import { openPool, preparedDatabase, put, readData, runSql } from './subject.js';

let database: FreshDatabase;
let pool: pg.Pool;
let fence: PostgresFence<pg.PoolClient>;

beforeAll(async () => {
  database = await preparedDatabase(inject('postgresUrl'));
});

afterAll(async () => await database.drop());

beforeEach(() => {
  pool = openPool(database.url);
  fence = postgresFence<pg.PoolClient>(pool, {
    idleInTransactionTimeoutMs: 1000,
    waitTimeoutMs: 5000,
  });
});

afterEach(async () => {
  await fence.close();
  await pool.end();
});

describe('a transaction under the PostgreSQL fence', () => {
  it('gives the client back in good order, with no listener of ours left on it', async () => {
    const name = freshName('reuse');
    const token = tokenOf(name, 5);
    await fence.claim(token);
    await fence.transaction(token, (client) => put(client, name, 'kept'));
    await expect(fence.claim(tokenOf(name, 4))).rejects.toBeInstanceOf(StaleTermError);
    const failure = new Error('mine');
    const attempt = fence.transaction(token, async () => await Promise.reject(failure));
    await expect(attempt).rejects.toBe(failure);
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
    const client = await pool.connect();
    expect(client.listenerCount('error')).toBe(0);
    const { rows } = await client.query('SHOW idle_in_transaction_session_timeout');
    expect(rows[0]).toEqual({ idle_in_transaction_session_timeout: '0' });
    client.release();
  });

  it("never closes the user's pool", async () => {
    await fence.close();
    await expect(fence.claim(tokenOf('closed', 1))).rejects.toBeInstanceOf(ClosedError);
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('lets the error of the work through even if the rollback fails', async () => {
    const failure = new Error('mine');
    const attempt = fence.transaction(tokenOf(freshName('mask'), 5), async (client) => {
      const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
      await runSql(database.url, 'SELECT pg_terminate_backend($1, 5000)', [rows[0].pid]);
      throw failure;
    });
    await expect(attempt).rejects.toBe(failure);
    expect(pool.totalCount).toBe(0);
  });

  it('finds out that a statement had failed and its error was swallowed', async () => {
    const name = freshName('swallowed');
    const attempt = fence.transaction(tokenOf(name, 5), async (client) => {
      await put(client, name, 'lost');
      await client.query('SELECT 1 / 0').catch(() => {});
    });
    await expect(attempt).rejects.toMatchObject({
      code: 'TENURE_STORE_REFUSED',
      storeCode: '25P02',
    });
    expect(await readData(database.url, name)).toBeUndefined();
  });

  it('finds out that the work committed on its own', async () => {
    const attempt = fence.transaction(tokenOf(freshName('own'), 5), async (client) => {
      await client.query('COMMIT');
    });
    await expect(attempt).rejects.toMatchObject({ storeCode: '25P01' });
    await expect(attempt).rejects.toThrow(/ended the transaction itself/);
  });

  it('refuses a commit that a deferred constraint stops, without the row in the error', async () => {
    await runSql(
      database.url,
      'CREATE TABLE late (secret text, CONSTRAINT late_once UNIQUE (secret) DEFERRABLE INITIALLY DEFERRED)',
    );
    const attempt = fence.transaction(tokenOf(freshName('late'), 5), async (client) => {
      await client.query("INSERT INTO late VALUES ('hunter2'), ('hunter2')");
    });
    const error = await attempt.catch((thrown: unknown) => thrown as StoreRefusedError);
    expect(error).toBeInstanceOf(StoreRefusedError);
    expect(error).toMatchObject({ storeCode: '23505' });
    expect(String(error)).toContain('late_once');
    expect(`${(error as Error).stack}${JSON.stringify((error as Error).cause)}`).not.toContain(
      'hunter2',
    );
  });

  it('runs at READ COMMITTED whatever the default is', async () => {
    const strict = openPool(database.url, {
      options: '-c default_transaction_isolation=serializable',
    });
    const seen = await postgresFence<pg.PoolClient>(strict).transaction(
      tokenOf(freshName('isolation'), 5),
      async (client) => (await client.query('SHOW transaction_isolation')).rows[0],
    );
    await strict.end();
    expect(seen).toEqual({ transaction_isolation: 'read committed' });
  });

  it('keeps a shorter idle limit of the session and lowers a longer or absent one', async () => {
    const name = freshName('limit');
    const token = tokenOf(name, 5);
    const limitUnder = async (setting: string) => {
      const client = await pool.connect();
      try {
        await client.query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = '${setting}'`);
        await fence.check(client, token);
        const { rows } = await client.query('SHOW idle_in_transaction_session_timeout');
        return rows[0].idle_in_transaction_session_timeout;
      } finally {
        await client.query('ROLLBACK');
        client.release();
      }
    };
    // First as a check that installs the term, then as one that finds it installed.
    expect(await limitUnder('0')).toBe('1s');
    expect(await limitUnder('500ms')).toBe('500ms');
    await fence.claim(token);
    expect(await limitUnder('0')).toBe('1s');
    expect(await limitUnder('500ms')).toBe('500ms');
    expect(await limitUnder('2min')).toBe('1s');
    expect(await limitUnder('1d')).toBe('1s');
  });

  it('rolls back an owner that idles too long, and says so', async () => {
    const name = freshName('idle');
    const attempt = fence.transaction(tokenOf(name, 5), async (client) => {
      await put(client, name, 'too late');
      await new Promise((resolve) => client.once('error', resolve));
    });
    await expect(attempt).rejects.toMatchObject({ storeCode: '25P03' });
    expect(await readData(database.url, name)).toBeUndefined();
    expect(pool.totalCount).toBe(0);
  });

  it('ends in an error, not a stale write, when a user at REPEATABLE READ loses the race', async () => {
    const name = freshName('snapshot');
    const old = tokenOf(name, 5);
    await fence.claim(old);
    const client = await pool.connect();
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await client.query('SELECT 1 FROM public.data');
    await fence.claim(tokenOf(name, 6));
    await expect(fence.check(client, old)).rejects.toMatchObject({ storeCode: '40001' });
    await client.query('ROLLBACK');
    client.release();
  });

  it('lets a claim through a steady stream of overlapping writers', async () => {
    const name = freshName('stream');
    const old = tokenOf(name, 5);
    await fence.claim(old);
    let isOver = false;
    const refused: unknown[] = [];
    const writer = async () => {
      while (!isOver) {
        const write = fence.transaction(old, async (client) => {
          await client.query('SELECT pg_sleep(0.1)');
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
    const open = fence.transaction(owner, () => gate.pass());
    await gate.reached;
    const hasty = postgresFence(pool, { idleInTransactionTimeoutMs: 100, waitTimeoutMs: 300 });
    const refusal = await hasty.claim(tokenOf(name, 4)).catch((error: unknown) => error);
    gate.open();
    await open;
    expect(refusal).toBeInstanceOf(StaleTermError);
  });

  it('gives up a claim after its wait, and leaves everything as it was', async () => {
    const name = freshName('wait');
    const old = tokenOf(name, 5);
    await fence.claim(old);
    const hasty = postgresFence(pool, { idleInTransactionTimeoutMs: 100, waitTimeoutMs: 300 });
    const gate = new Gate();
    const open = fence.transaction(old, () => gate.pass());
    await gate.reached;
    const refusal = await hasty.claim(tokenOf(name, 6)).catch((error: unknown) => error);
    gate.open();
    await open;
    expect(refusal).toMatchObject({ storeCode: '55P03' });
    expect(await fence.installedTerm(name)).toBe(5);
  });

  it('forgets old effects, and only those', async () => {
    const scope = freshName('forget');
    const token = tokenOf(scope, 5);
    const record = (seq: number) =>
      fence.transaction(token, (client) => fence.recordOnce(client, scope, 'key', seq, `m${seq}`));
    await record(1);
    await runSql(
      database.url,
      "UPDATE tenure.effects SET recorded_at = recorded_at - interval '2 hours'",
    );
    await record(2);
    expect(await fence.forgetEffects(3_600_000)).toBe(1);
    expect(await fence.forgetEffects(3_600_000)).toBe(0);
    expect([await record(1), await record(2)]).toEqual([true, false]);
  });
});
