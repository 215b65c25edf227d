import type pg from 'pg';
import { describe, expect, it, vi } from 'vitest';
import { StaleTermError, StoreRefusedError, UnreachableError } from '../../../src/errors/index.js';
import { freshName, Gate, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { postgresFence } from '../../../src/fences/postgres/index.js';
import { forgetsOldEffects } from '../stored-fences.js';
import { database, fence, pool, useDatabase } from './stage.js';
import { openPool, put, readData, runSql } from './subject.js';

useDatabase();

/** Whether anybody in this database is kept waiting for a lock. */
async function waitsForLock(url: string): Promise<boolean> {
  const text =
    "SELECT FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
  return (await runSql(url, text)).rowCount !== 0;
}

describe('a transaction under the PostgreSQL fence', () => {
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

  it('says which limit ended it if its work meets that, and what the work met', async () => {
    const name = freshName('idle');
    const attempt = fence.transaction(tokenOf(name, 5), async (client) => {
      await put(client, name, 'too late');
      await new Promise((resolve) => client.once('error', resolve));
      await client.query('SELECT 1');
    });
    await expect(attempt).rejects.toMatchObject({
      code: 'TENURE_STORE_REFUSED',
      storeCode: '25P03',
    });
    await expect(attempt).rejects.toThrow(/nothing was written.*idleInTransactionTimeoutMs/);
    const cause = { message: expect.stringContaining('is not queryable') };
    await expect(attempt).rejects.toMatchObject({ cause });
    expect(await readData(database.url, name)).toBeUndefined();
  });

  it('says that its connection was lost if its work meets that, however it passes it on', async () => {
    const end = 'SELECT pg_terminate_backend(pg_backend_pid())';
    const meet = fence.transaction(tokenOf(freshName('ended'), 5), (client) => client.query(end));
    await expect(meet).rejects.toBeInstanceOf(UnreachableError);
    await expect(meet).rejects.toMatchObject({ cause: { code: '57P01' } });
    const layer = fence.transaction(tokenOf(freshName('layer'), 5), async (client) => {
      const lost = await client.query(end).catch((cause) => new Error('no order', { cause }));
      throw lost;
    });
    await expect(layer).rejects.toThrow(/lost before the commit, so nothing was written/);
    await expect(layer).rejects.toMatchObject({ cause: { message: 'no order' } });
  });

  it('lets the error of another connection through, which says nothing of its own', async () => {
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    const attempt = fence.transaction(tokenOf(freshName('other'), 5), () => Promise.reject(reset));
    await expect(attempt).rejects.toBe(reset);
  });

  it('may alter and drop what the fence itself stands in', async () => {
    const own = postgresFence<pg.PoolClient>(pool, { schema: 'to_be_dropped' });
    await own.migrate();
    const token = tokenOf(freshName('dropped'), 1);
    await own.claim(token);
    await own.transaction(token, (client) => client.query('DROP SCHEMA to_be_dropped CASCADE'));
    const { rows } = await pool.query("SELECT to_regnamespace('to_be_dropped') AS found");
    expect(rows).toEqual([{ found: null }]);
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

  it.each(['serializable', 'repeatable read', 'read uncommitted'])(
    'runs at READ COMMITTED whatever the default is: %s',
    async (isolation) => {
      const strict = openPool(database.url, {
        options: `-c default_transaction_isolation=${isolation.replace(' ', '\\ ')}`,
      });
      const token = tokenOf(freshName('isolation'), 5);
      const onStrict = postgresFence<pg.PoolClient>(strict);
      const seen: unknown[] = [];
      // First as a term that is not installed yet, then as one that is; the last one by a fence that knows of the default.
      for (let round = 0; round < 3; round++)
        await onStrict.transaction(token, async (client) => {
          seen.push((await client.query('SHOW transaction_isolation')).rows[0]);
        });
      await strict.end();
      expect(seen).toEqual(Array(3).fill({ transaction_isolation: 'read committed' }));
    },
  );

  it('does not begin the work under an installed term while another one is being installed', async () => {
    const name = freshName('meanwhile');
    const old = tokenOf(name, 5);
    await fence.claim(old);
    for (const [end, runs] of [
      ['ROLLBACK', 1],
      ['COMMIT', 0],
    ] as const) {
      const successor = await pool.connect();
      await successor.query('BEGIN');
      await fence.check(successor, tokenOf(name, 6));
      let runCount = 0;
      const attempt = fence
        .transaction(old, async () => {
          runCount += 1;
        })
        .catch((error: unknown) => error);
      await vi.waitUntil(() => waitsForLock(database.url), { timeout: 30_000 });
      expect(runCount).toBe(0);
      await successor.query(end);
      successor.release();
      const failure = await attempt;
      if (end === 'COMMIT') expect(failure).toBeInstanceOf(StaleTermError);
      expect(runCount, end).toBe(runs);
    }
  });

  it('of an installed term costs three messages, as one without a fence, and holds one lock of the name', async () => {
    const token = tokenOf(freshName('messages'), 5);
    await fence.claim(token);
    const client = await pool.connect();
    const texts: unknown[] = [];
    const spied: pg.Pool = Object.assign(Object.create(pool), {
      connect: async () =>
        Object.assign(Object.create(client), {
          query: (text: string, values?: unknown[]) => {
            texts.push(text);
            return client.query(text, values);
          },
        }),
    });
    const onSpied = postgresFence<pg.PoolClient>(spied);
    const locks = await onSpied.transaction(token, async (open) => {
      const text =
        "SELECT mode FROM pg_locks WHERE pid = pg_backend_pid() AND locktype IN ('advisory', 'transactionid')";
      return (await open.query(text)).rows;
    });
    expect(texts).toHaveLength(3);
    expect(locks).toEqual([{ mode: 'ShareLock' }]);
    expect(texts[0]).toMatch(/^BEGIN; CALL /);
    expect(texts[2]).toBe('CLOSE tenure_transaction; COMMIT');
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
    const text = "UPDATE tenure.effects SET recorded_at = recorded_at - interval '2 hours'";
    await forgetsOldEffects(fence, () => runSql(database.url, text));
  });
});
