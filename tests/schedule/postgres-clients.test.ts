import { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import type { PostgresPool } from '../../src/drivers/postgres/index.js';
import { StoreRefusedError } from '../../src/errors/index.js';
import { postgresJobs } from '../../src/postgres.js';
import { act, call, definition, tokenOf } from '../../src/schedule/conformance/scene.js';
import { realRuntime } from '../../src/time/index.js';
import { type FreshDatabase, freshPostgresDatabase } from '../support/servers/index.js';

let database: FreshDatabase;
let watching: Pool;
beforeAll(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
  watching = new Pool({ connectionString: database.url, max: 1 });
  const store = postgresJobs(database.url);
  await store.migrate();
  await store.close();
});
afterAll(async () => {
  await watching.end();
  await database.drop();
});

let own: Pool;
beforeEach(() => {
  own = new Pool({ connectionString: database.url, max: 1 });
});
afterEach(async () => await own.end());

let count = 0;
async function storeOf(pool: PostgresPool = own, runtime = realRuntime) {
  count += 1;
  const namespace = `clients-${count}`;
  const store = postgresJobs(pool, { namespace, runtime });
  const definitions = ['a', 'b', 'c'].map((job) => ({ ...definition, job }));
  await store.claim(tokenOf(1), definitions, undefined, call);
  return { store, namespace };
}

async function pausedJobs(namespace: string): Promise<string[]> {
  const { rows } = await watching.query<{ job: string }>(
    'SELECT job FROM tenure.jobs WHERE namespace = $1 AND pause IS NOT NULL ORDER BY job',
    [namespace],
  );
  return rows.map(({ job }) => job);
}

type Query = (...args: unknown[]) => Promise<unknown>;

/** Calls `sent` with all that goes out as text, when it was sent. */
async function overhear(sent: (text: string, query: Query) => void): Promise<void> {
  const client = await own.connect();
  const query = client.query.bind(client) as unknown as Query;
  const overheard = (...args: unknown[]) => {
    const answer = query(...args);
    sent(String(args[0]), query);
    return answer;
  };
  Object.assign(client, { query: overheard });
  client.release();
}

describe('a change of a job, on a client that is still used by who had it before', () => {
  /** Sends it once, behind the first message of a change. */
  const intrudeWith = (text: string) => {
    let isDone = false;
    return overhear((sent, query) => {
      if (isDone || !sent.startsWith('BEGIN')) return;
      isDone = true;
      query(text).catch(() => {});
    });
  };

  const intrusions = [
    ...['ROLLBACK', 'COMMIT', 'ROLLBACK AND CHAIN', 'COMMIT; BEGIN', 'CLOSE ALL'],
    'SELECT 1 / 0',
  ];

  it.each(intrusions)('writes nothing when its transaction met a %s, and says so', async (text) => {
    const { store, namespace } = await storeOf();
    await intrudeWith(text);
    const attempt = store.pause('a', act, call);
    await expect(attempt).rejects.toBeInstanceOf(StoreRefusedError);
    await expect(attempt).rejects.toMatchObject({ storeCode: '34000' });
    await expect(attempt).rejects.toThrow(/^a pause of jobs was refused, nothing was written/);
    expect(own.totalCount).toBe(0);
    expect(await pausedJobs(namespace)).toEqual([]);
    expect(await store.pause('a', act, call)).toMatchObject(act);
    expect(await pausedJobs(namespace)).toEqual(['a']);
    await store.close();
  });

  it('is made after all where it had gone together with others', async () => {
    const { store, namespace } = await storeOf();
    await intrudeWith('ROLLBACK');
    await Promise.all(['a', 'b', 'c'].map((job) => store.pause(job, act, call)));
    expect(await pausedJobs(namespace)).toEqual(['a', 'b', 'c']);
    await store.close();
  });
});
