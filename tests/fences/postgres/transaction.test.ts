import type pg from 'pg';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  inject,
  it,
  vi,
} from 'vitest';
import {
  ClosedError,
  OptionError,
  RecordCorruptError,
  SequenceReusedError,
  StaleTermError,
  StoreRefusedError,
  UnreachableError,
} from '../../../src/errors/index.js';
import { freshName, Gate, tokenOf } from '../../../src/fences/conformance/scenario.js';
import {
  type PostgresFence,
  type PostgresFenceOptions,
  type PostgresQueryable,
  postgresFence,
} from '../../../src/fences/postgres/index.js';
import type { FreshDatabase } from '../../support/servers/index.js';
import { openPool, preparedDatabase, put, readData, runSql, wrapped } from './subject.js';

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

/** Whether anybody in this database is kept waiting for a lock. */
async function waitsForLock(url: string): Promise<boolean> {
  const text =
    "SELECT FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
  return (await runSql(url, text)).rowCount !== 0;
}

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

  it('limits how long an owner whose term is installed may stand idle, and keeps a shorter limit', async () => {
    const name = freshName('idle-limit');
    const token = tokenOf(name, 5);
    await fence.claim(token);
    const cases = { '0': '1s', '500ms': '500ms', '2min': '1s', '1d': '1s', '1s': '1s' };
    for (const [session, expected] of Object.entries(cases)) {
      const options = { options: `-c idle_in_transaction_session_timeout=${session}` };
      const own = openPool(database.url, options);
      const onOwn = postgresFence<pg.PoolClient>(own, {
        idleInTransactionTimeoutMs: 1000,
        waitTimeoutMs: 5000,
      });
      const limit = () =>
        onOwn.transaction(
          token,
          async (client) =>
            (await client.query('SHOW idle_in_transaction_session_timeout')).rows[0]
              .idle_in_transaction_session_timeout,
        );
      // The first one may have found out only that sessions are to be limited here.
      expect([await limit(), await limit()], session).toEqual([expected, expected]);
      await own.end();
    }
  });

  it('rolls back an owner of an installed term that idles too long', async () => {
    const name = freshName('idle-installed');
    const token = tokenOf(name, 5);
    await fence.claim(token);
    const attempt = fence.transaction(token, async (client) => {
      await put(client, name, 'too late');
      await new Promise((resolve) => client.once('error', resolve));
    });
    await expect(attempt).rejects.toMatchObject({ storeCode: '25P03' });
    expect(await readData(database.url, name)).toBeUndefined();
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

  it('commits durably whatever the session says: terms that were there, and effects', async () => {
    const name = freshName('durable');
    const token = tokenOf(name, 5);
    await fence.claim(token);
    const settingOf = async (client: pg.PoolClient) =>
      (await client.query('SHOW synchronous_commit')).rows[0].synchronous_commit;
    const cases = {
      off: 'on',
      local: 'on',
      remote_write: 'on',
      on: 'on',
      remote_apply: 'remote_apply',
    };
    for (const [session, expected] of Object.entries(cases)) {
      const options = { options: `-c synchronous_commit=${session}` };
      const lax = openPool(database.url, options);
      const onLax = postgresFence<pg.PoolClient>(lax);
      expect(await onLax.transaction(token, settingOf), session).toBe(expected);
      const client = await lax.connect();
      await client.query('BEGIN');
      await onLax.recordOnce(client, name, session, 1, 'm1');
      expect(await settingOf(client), session).toBe(expected);
      await client.query('COMMIT');
      expect(await settingOf(client), session).toBe(session);
      client.release();
      await lax.end();
    }
  });

  it('has the same limits and durability however it begins: watched, with a mark, or under a new term', async () => {
    const claimed = tokenOf(freshName('alike'), 5);
    await fence.claim(claimed);
    const sessions = [
      ['0', 'off', '1s', 'on'],
      ['2min', 'local', '1s', 'on'],
      ['500ms', 'remote_apply', '500ms', 'remote_apply'],
      ['1s', 'on', '1s', 'on'],
    ] as const;
    const text = `SELECT current_setting('idle_in_transaction_session_timeout') AS idle,
      current_setting('synchronous_commit') AS durability`;
    for (const [idleLimit, commit, idle, durability] of sessions) {
      const options = `-c idle_in_transaction_session_timeout=${idleLimit} -c synchronous_commit=${commit}`;
      const own = openPool(database.url, { options });
      const limits = { idleInTransactionTimeoutMs: 1000, waitTimeoutMs: 5000 };
      const watched = postgresFence<pg.PoolClient>(own, limits);
      const marked = postgresFence<pg.PoolClient>(wrapped(own), limits);
      const seen = async (client: pg.PoolClient) => (await client.query(text)).rows[0];
      const begun = {
        watched: await watched.transaction(claimed, seen),
        again: await watched.transaction(claimed, seen),
        marked: await marked.transaction(claimed, seen),
        new: await watched.transaction(tokenOf(freshName('alike-new'), 5), seen),
      };
      const expected = { idle, durability };
      const alike = { watched: expected, again: expected, marked: expected, new: expected };
      expect(begun, options).toEqual(alike);
      await own.end();
    }
  });

  it('forgets old effects, and only those', async () => {
    const scope = freshName('forget');
    const token = tokenOf(scope, 5);
    const record = (seq: number) =>
      fence.transaction(token, (client) => fence.recordOnce(client, scope, 'key', seq, `m${seq}`));
    await fence.forgetEffects(0);
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

  async function swallowing(name: string, step: (client: pg.PoolClient) => Promise<unknown>) {
    const client = await pool.connect();
    await client.query('BEGIN');
    await put(client, name, 'unguarded');
    const failure = await step(client).catch((error: unknown) => error);
    await client.query('COMMIT');
    client.release();
    return failure;
  }

  it('that fails for any reason cannot be swallowed and committed', async () => {
    const name = freshName('spoilt');
    const token = tokenOf(name, 5);
    const closed = postgresFence(pool);
    await closed.close();
    const failures = [
      await swallowing(name, (client) => fence.check(client, { ...token, term: 0 })),
      await swallowing(name, (client) => closed.check(client, token)),
      await swallowing(name, (client) => closed.recordOnce(client, name, 'key', 1, 'm1')),
      await swallowing(name, (client) => fence.recordOnce(client, name, '', 1, 'm1')),
    ];
    const classes = [OptionError, ClosedError, ClosedError, OptionError];
    for (const [index, failure] of failures.entries())
      expect(failure, `${index}`).toBeInstanceOf(classes[index]);
    await runSql(
      database.url,
      `ALTER TABLE tenure.fences DROP CONSTRAINT fences_term_check;
       INSERT INTO tenure.fences VALUES ('${name}', 9000000000000000, 'nobody')`,
    );
    const corrupt = await swallowing(name, (client) => fence.check(client, token));
    expect(corrupt).toBeInstanceOf(RecordCorruptError);
    expect(await readData(database.url, name)).toBeUndefined();
    await runSql(database.url, 'DELETE FROM tenure.fences WHERE name = $1', [name]);
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

  it('of a number that was used twice may be caught, and something else kept', async () => {
    const name = freshName('caught');
    const token = tokenOf(name, 5);
    const record = (client: pg.PoolClient, id: string) =>
      fence.recordOnce(client, name, 'key', 1, id);
    await fence.transaction(token, (client) => record(client, 'm1'));
    await fence.transaction(token, async (client) => {
      await expect(record(client, 'm2')).rejects.toBeInstanceOf(SequenceReusedError);
      await put(client, name, 'put aside');
    });
    expect(await readData(database.url, name)).toBe('put aside');
  });
});

describe('a pool that the PostgreSQL fence opens', () => {
  it('has as many connections as it was told, and no more', async () => {
    const name = freshName('pool');
    const token = tokenOf(name, 5);
    const small = postgresFence(database.url, { maxConnections: 2, timeoutMs: 1000 });
    await small.claim(token);
    const gates = [new Gate(), new Gate()];
    const open = gates.map((gate) => small.transaction(token, () => gate.pass()));
    await Promise.all(gates.map(({ reached }) => reached));
    await expect(small.claim(token)).rejects.toThrow(/every connection of the pool is in use/);
    for (const gate of gates) gate.open();
    await Promise.all(open);
    await small.close();
  });

  it.each([0, 1.5, 1001, '5', Number.NaN])('refuses %s connections', (maxConnections) => {
    const options = { maxConnections } as PostgresFenceOptions;
    expect(() => postgresFence(database.url, options)).toThrow(OptionError);
  });

  it('is not confused with a pool of the user', () => {
    expect(() => postgresFence(pool, { maxConnections: 5 })).toThrow(/set `max` of that pool/);
  });
});
