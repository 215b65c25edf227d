import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { OptionError, RecordCorruptError, UnreachableError } from '../../../src/errors/index.js';
import { freshName, Gate, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { type PostgresQueryable, postgresFence } from '../../../src/fences/postgres/index.js';
import { database, fence, pool, useDatabase } from './stage.js';
import { put, readData, runSql } from './subject.js';

useDatabase();

describe('a check or a record of the PostgreSQL fence', () => {
  const steps = {
    check: (on: PostgresQueryable, name: string) => fence.check(on, tokenOf(name, 5)),
    record: (on: PostgresQueryable, name: string) => fence.recordOnce(on, name, 'key', 1, 'm1'),
  };

  it.each(['check', 'record'] as const)('(%s) is refused outside a transaction', async (step) => {
    const name = freshName('outside');
    const client = await pool.connect();
    const disguised: PostgresQueryable = { query: (text, values) => pool.query(text, values) };
    const nothing = undefined as never;
    for (const target of [client, pool as unknown as PostgresQueryable, disguised, nothing]) {
      await expect(steps[step](target, name)).rejects.toBeInstanceOf(OptionError);
    }
    await expect(steps[step](client, name)).rejects.toThrow(/BEGIN/);
    // The same client is taken inside a transaction, and what went wrong before has left nothing.
    await client.query('BEGIN');
    await steps[step](client, name);
    await client.query('COMMIT');
    client.release();
    expect(await fence.installedTerm(name)).toBe(step === 'check' ? 5 : undefined);
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

  async function swallowing(name: string, step: (client: pg.PoolClient) => Promise<unknown>) {
    const client = await pool.connect();
    await client.query('BEGIN');
    await put(client, name, 'unguarded');
    const failure = await step(client).catch((error: unknown) => error);
    await client.query('COMMIT');
    client.release();
    return failure;
  }

  it('that finds no term in the row cannot be swallowed and committed', async () => {
    const name = freshName('corrupt');
    await runSql(
      database.url,
      `ALTER TABLE tenure.fences DROP CONSTRAINT fences_term_check;
       INSERT INTO tenure.fences VALUES ('${name}', 9000000000000000, 'nobody')`,
    );
    const failure = await swallowing(name, (client) => fence.check(client, tokenOf(name, 5)));
    expect(failure).toBeInstanceOf(RecordCorruptError);
    expect(await readData(database.url, name)).toBeUndefined();
  });

  it('that gets no answer in time cannot be swallowed either, and does not speak of a lost connection', async () => {
    const name = freshName('late');
    const old = tokenOf(name, 5);
    await fence.claim(old);
    const gate = new Gate();
    const open = fence.transaction(old, () => gate.pass());
    await gate.reached;
    const hasty = postgresFence(pool, {
      idleInTransactionTimeoutMs: 100,
      waitTimeoutMs: 200,
      timeoutMs: 100,
    });
    // A session without limits of its own: the server would let it wait for ever.
    const attempt = swallowing(name, async (client) => {
      const failure = await hasty.check(client, tokenOf(name, 6)).catch((error: unknown) => error);
      gate.open();
      throw failure;
    });
    const failure = await attempt;
    await open;
    expect(failure).toBeInstanceOf(UnreachableError);
    expect(String(failure)).toMatch(/gave no answer. Roll the transaction back/);
    expect(await readData(database.url, name)).toBeUndefined();
    expect(await fence.installedTerm(name)).toBe(5);
  });

  it('that finds its connection closed says so', async () => {
    const name = freshName('closed');
    const attempt = fence.transaction(tokenOf(name, 5), async (client) => {
      const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
      await runSql(database.url, 'SELECT pg_terminate_backend($1, 5000)', [rows[0].pid]);
      await fence.recordOnce(client, 'scope', name, 1, 'one');
    });
    const failure = await attempt.catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UnreachableError);
    expect(String(failure)).toMatch(/connection to PostgreSQL was lost.*nothing was written/);
  });
});
