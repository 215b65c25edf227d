import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { OutcomeUnknownError, UnreachableError } from '../../../src/errors/index.js';
import { freshName, tokenOf } from '../../../src/fences/conformance/scenario.js';
import {
  type PostgresClient,
  type PostgresFence,
  type PostgresPool,
  postgresFence,
} from '../../../src/fences/postgres/index.js';
import type { FreshDatabase } from '../../support/servers/index.js';
import { openPool, preparedDatabase, put, readData, runSql, wrapped } from './subject.js';

let database: FreshDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await preparedDatabase(inject('postgresUrl'));
});
afterAll(() => database.drop());
beforeEach(() => {
  pool = openPool(database.url);
});
afterEach(() => pool.end());

/** Ends the session of a client from elsewhere, and waits until the client knows. */
async function lose(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
  const gone = new Promise((resolve) => client.once('error', resolve));
  await runSql(database.url, 'SELECT pg_terminate_backend($1)', [rows[0].pid]);
  await gone;
}

/** Half of the ends of a connection are known only once something is sent on it. */
const losses: Record<string, (client: pg.PoolClient) => Promise<unknown>> = {
  'is ended by others': lose,
  'ends itself': (client) => client.query('SELECT pg_terminate_backend(pg_backend_pid())'),
  'ends itself, and swallows that': (client) =>
    client.query('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => {}),
  'is ended by others, and throws': async (client) => {
    await lose(client);
    throw new Error('mine');
  },
  'is ended by others, and sends on': async (client) => {
    await lose(client);
    await client.query('SELECT 1');
  },
};

describe.each([
  ['of pg', 'claimed', (inner: pg.Pool) => inner],
  ['of pg', 'new', (inner: pg.Pool) => inner],
  ['that is wrapped', 'claimed', wrapped],
  ['that is wrapped', 'new', wrapped],
])('work on a client %s, under a %s term,', (_, standing, take) => {
  let fence: PostgresFence<pg.PoolClient>;
  beforeEach(() => {
    fence = postgresFence<pg.PoolClient>(take(pool));
  });
  afterEach(() => fence.close());

  async function under(
    name: string,
    work: (client: pg.PoolClient) => Promise<unknown>,
  ): Promise<unknown> {
    const token = tokenOf(name, 5);
    if (standing === 'claimed') await fence.claim(token);
    return await fence.transaction(token, work).catch((error: unknown) => error);
  }

  it.each(Object.entries(losses))(
    'that commits, and then %s: the outcome is unknown, and what was written is there',
    async (_how, end) => {
      const name = freshName('committed');
      const failure = await under(name, async (client) => {
        await put(client, name, 'there');
        await client.query('COMMIT');
        await end(client);
      });
      expect(failure).toBeInstanceOf(OutcomeUnknownError);
      expect(await readData(database.url, name)).toBe('there');
    },
  );

  it('that commits and ends its session in one message: likewise', async () => {
    const name = freshName('at-once');
    const failure = await under(name, async (client) => {
      await put(client, name, 'there');
      await client.query('COMMIT; SELECT pg_terminate_backend(pg_backend_pid())');
    });
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    expect(await readData(database.url, name)).toBe('there');
  });

  it('that lost its connection before any commit: nothing was written', async () => {
    const name = freshName('plain-loss');
    const failure = await under(name, async (client) => {
      await put(client, name, 'lost');
      await lose(client);
    });
    expect(String(failure)).toContain('so nothing was written; try again');
    expect(failure).toBeInstanceOf(UnreachableError);
    expect(await readData(database.url, name)).toBeUndefined();
  });

  it.each([
    ['leaves it', ['SAVEPOINT here', 'ROLLBACK'], []],
    ['rolls it back', ['ROLLBACK'], []],
    ['commits it, and forgets its settings', ['COMMIT', 'DISCARD ALL'], []],
    ['rolls it back, and has a failure that is swallowed', ['ROLLBACK'], ['swallowed']],
  ])(
    'that %s, writes, and fails in another: the outcome is unknown',
    async (_how, leaving, [isSwallowed]) => {
      const name = freshName('between');
      const failure = await under(name, async (client) => {
        for (const text of leaving) await client.query(text);
        await put(client, name, 'there');
        await client.query('BEGIN');
        const failing = client.query('SELECT 1 / 0');
        await (isSwallowed ? failing.catch(() => {}) : failing);
      });
      expect(failure).toBeInstanceOf(OutcomeUnknownError);
      expect(await readData(database.url, name)).toBe('there');
    },
  );
});

describe('work on a client whose answers nobody but its caller sees', () => {
  /** No `connection`, as of a client that is no one of `pg` at all. */
  function unseen(inner: pg.Pool): PostgresPool {
    return {
      connect: async (): Promise<PostgresClient> => {
        const client = await inner.connect();
        return {
          query: (text: string, values?: unknown[]) => client.query(text, values),
          release: (destroys?: boolean) => client.release(destroys),
          on: (...args: ['error', (error: Error) => void]) => client.on(...args),
          removeListener: (...args: ['error', (error: Error) => void]) =>
            client.removeListener(...args),
        } as unknown as PostgresClient;
      },
    };
  }

  it('is told on what it depends whether anything was written', async () => {
    const name = freshName('unseen');
    const fence = postgresFence(unseen(pool));
    const attempt = fence.transaction(tokenOf(name, 5), async (client) => {
      await client.query('INSERT INTO data VALUES ($1, $2)', [name, 'there']);
      await client.query('COMMIT');
      await client.query('SELECT pg_terminate_backend(pg_backend_pid())');
    });
    await expect(attempt).rejects.toThrow(/nothing was written unless the work has said COMMIT/);
    expect(await readData(database.url, name)).toBe('there');
    await fence.close();
  });
});
