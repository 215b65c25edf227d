import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { OptionError, StaleTermError } from '../../../src/errors/index.js';
import { freshName, Gate, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { type PostgresFence, postgresFence } from '../../../src/fences/postgres/index.js';
import type { FreshDatabase } from '../../support/servers/index.js';
import { openPool, preparedDatabase, put, readData } from './subject.js';

let database: FreshDatabase;
let pool: pg.Pool;
let fence: PostgresFence<pg.PoolClient>;

beforeAll(async () => {
  database = await preparedDatabase(inject('postgresUrl'));
});

afterAll(async () => await database.drop());

beforeEach(() => {
  pool = openPool(database.url);
  fence = postgresFence(pool);
});

afterEach(async () => {
  await fence.close();
  await pool.end();
});

/** What sessions of this database wait for a lock with. */
async function waitingQueries(): Promise<readonly string[]> {
  const { rows } = await pool.query<{ query: string }>(
    "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rows.map(({ query }) => query);
}

const untilWaiting = async (count: number) =>
  await expect.poll(waitingQueries, { timeout: 10_000 }).toHaveLength(count);

/**
 * A pool whose connections do something else between the two questions that travel with a `BEGIN`: each has a snapshot of its
 * own, and the server may be anywhere else in between.
 */
function pausing(between: () => Promise<unknown>): Pick<pg.Pool, 'connect'> {
  const connect = async () => {
    const client = await pool.connect();
    const query = client.query.bind(client) as (...asked: unknown[]) => Promise<unknown>;
    const split = async (text: unknown, ...rest: unknown[]) => {
      const [first, second] = String(text).split(/(?<=AS locked); /);
      if (typeof text !== 'string' || second === undefined) return await query(text, ...rest);
      const answers = [await query(first)].flat();
      await between();
      return [...answers, await query(second)].flat();
    };
    return Object.assign(Object.create(client), { query: split });
  };
  return { connect } as unknown as Pick<pg.Pool, 'connect'>;
}

describe('the first write of a term, beside another one that installs it', () => {
  it('is waited for by a successor, although it found nothing installed when it began', async () => {
    const name = freshName('side-by-side');
    const token = tokenOf(name, 6);
    await fence.claim(tokenOf(name, 5));
    let pauses = 0;
    const first = postgresFence<pg.PoolClient>(
      pausing(async () => {
        pauses++;
        await fence.transaction(token, async () => {});
      }),
    );
    const order: string[] = [];
    const gate = new Gate();
    const write = first.transaction(token, async (client) => {
      await put(client, name, 'written');
      await gate.pass();
      order.push('written');
    });
    await gate.reached;
    expect(pauses).toBe(1);
    const claim = fence.claim(tokenOf(name, 7)).then(() => order.push('claimed'));
    await Promise.race([claim, untilWaiting(1)]);
    gate.open();
    await Promise.all([write, claim]);
    expect(order).toEqual(['written', 'claimed']);
    expect(await readData(database.url, name)).toBe('written');
  });

  it('is refused if a successor goes in between, and its work never runs', async () => {
    const name = freshName('in-between');
    const token = tokenOf(name, 6);
    const first = postgresFence<pg.PoolClient>(
      pausing(async () => {
        await fence.claim(token);
        await fence.claim(tokenOf(name, 7));
      }),
    );
    const write = first.transaction(token, (client) => put(client, name, 'stale'));
    await expect(write).rejects.toBeInstanceOf(StaleTermError);
    expect(await readData(database.url, name)).toBeUndefined();
  });
});

it('a transaction that begins while a successor waits does so behind it, not with its BEGIN', async () => {
  const name = freshName('behind');
  const token = tokenOf(name, 5);
  await fence.claim(token);
  const gate = new Gate();
  const open = fence.transaction(token, () => gate.pass());
  await gate.reached;
  const claim = fence.claim(tokenOf(name, 6));
  await untilWaiting(1);
  const late = fence.transaction(token, (client) => put(client, name, 'late'));
  const refusal = expect(late).rejects.toBeInstanceOf(StaleTermError);
  await untilWaiting(2);
  for (const query of await waitingQueries()) expect(query).not.toMatch(/^BEGIN/);
  gate.open();
  await Promise.all([open, claim, refusal]);
  expect(await readData(database.url, name)).toBeUndefined();
});

describe('a check of a token that is not installed, in a transaction with one snapshot', () => {
  it.each(['REPEATABLE READ', 'SERIALIZABLE'])('is refused at %s', async (isolation) => {
    const name = freshName('snapshot');
    const token = tokenOf(name, 6);
    await fence.claim(tokenOf(name, 5));
    const client = await pool.connect();
    await client.query(`BEGIN ISOLATION LEVEL ${isolation}`);
    const check = fence.check(client, token);
    await expect(check).rejects.toBeInstanceOf(OptionError);
    await expect(check).rejects.toThrow(/fence\.claim/);
    await expect(client.query('SELECT 1')).rejects.toMatchObject({ code: '25P02' });
    await client.query('ROLLBACK');
    expect(await fence.installedTerm(name)).toBe(5);

    await fence.claim(token);
    await client.query(`BEGIN ISOLATION LEVEL ${isolation}`);
    await fence.check(client, token);
    await put(client, name, 'guarded');
    await client.query('COMMIT');
    client.release();
    expect(await readData(database.url, name)).toBe('guarded');
  });
});
