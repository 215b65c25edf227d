import { Pool, type PoolClient } from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  OutcomeUnknownError,
  StoreRefusedError,
  UnreachableError,
} from '../../src/errors/index.js';
import { postgresJobs } from '../../src/postgres.js';
import { act, call, definition, tokenOf } from '../../src/schedule/conformance/scene.js';
import type { JobStore } from '../../src/schedule/index.js';
import { type Runtime, realRuntime } from '../../src/time/index.js';
import { JobsDatabase } from './postgres-database.js';

const database = new JobsDatabase(1);

let own: Pool;
beforeEach(() => {
  own = new Pool({ connectionString: database.url, max: 1 });
});
afterEach(async () => await own.end());

let count = 0;
async function storeOf(pool = own, runtime = realRuntime) {
  count += 1;
  const namespace = `clients-${count}`;
  const store = postgresJobs(pool, { namespace, runtime });
  const definitions = ['a', 'b', 'c'].map((job) => ({ ...definition, job }));
  await store.claim(tokenOf(1), definitions, undefined, call);
  return { store, namespace };
}

async function pausedJobs(namespace: string): Promise<string[]> {
  const { rows } = await database.pool.query<{ job: string }>(
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
  /** Sends it once, behind the first message of a change, or that with `after`. */
  const intrudeWith = (text: string, after = 'BEGIN') => {
    let isDone = false;
    return overhear((sent, query) => {
      if (isDone || !sent.includes(after)) return;
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

  it.each(['ROLLBACK', 'COMMIT'])(
    'is no claim when its transaction met a %s behind its locks: no record is written without them',
    async (text) => {
      const { store, namespace } = await storeOf();
      const recordOf = async () => {
        const select = "SELECT record FROM tenure.jobs WHERE namespace = $1 AND job = 'a'";
        return (await database.pool.query(select, [namespace])).rows;
      };
      const before = await recordOf();
      await intrudeWith(text, 'ORDER BY job FOR UPDATE');
      const attempt = store.claim(tokenOf(2), [{ ...definition, job: 'a' }], undefined, call);
      await expect(attempt).rejects.toBeInstanceOf(OutcomeUnknownError);
      expect(await recordOf()).toEqual(before);
      await store.close();
    },
  );

  it('is made after all where it had gone together with others', async () => {
    const { store, namespace } = await storeOf();
    await intrudeWith('ROLLBACK');
    await Promise.all(['a', 'b', 'c'].map((job) => store.pause(job, act, call)));
    expect(await pausedJobs(namespace)).toEqual(['a', 'b', 'c']);
    await store.close();
  });
});

describe('a client that was released inside a transaction in which a statement had failed', () => {
  it.each([
    ['a write', (store: JobStore) => store.write(tokenOf(1), { job: 'a' }, call)],
    ['a look', (store: JobStore) => store.look(['a'], call)],
    ['a claim', (store: JobStore) => store.claim(tokenOf(1), [definition], undefined, call)],
  ])(
    'is told, by %s, as one that was left inside a transaction, and is closed',
    async (_, step) => {
      const { store } = await storeOf();
      const client = await own.connect();
      await client.query('BEGIN');
      await client.query('SELECT 1 / 0').catch(() => {});
      client.release();
      await expect(step(store)).rejects.toMatchObject({ storeCode: 'TN013' });
      expect(own.totalCount).toBe(0);
      await step(store);
      await store.close();
    },
  );
});

describe('a change of a job that waits for a connection', () => {
  /** The pool, each of whose connections is had through `ask`. */
  function asking(ask: (connect: () => Promise<PoolClient>) => Promise<PoolClient>): Pool {
    const connect = own.connect.bind(own);
    return Object.assign(own, { connect: () => ask(connect) });
  }

  const tooMany = () =>
    Object.assign(new Error('sorry, too many clients already'), { code: '53300' });

  it('is not sent if it gets one when its time is over, and the server is given no limit of zero', async () => {
    let lateMs = 0;
    let isSlow = false;
    const now = () => {
      const instant = realRuntime.now();
      return { ...instant, monotonicMs: instant.monotonicMs + lateMs };
    };
    const runtime: Runtime = {
      now,
      setTimer: (...timer) => realRuntime.setTimer(...timer),
      random: () => realRuntime.random(),
      randomHex: (bytes) => realRuntime.randomHex(bytes),
    };
    const pool = asking(async (connect) => {
      const client = await connect();
      if (isSlow) lateMs = call.timeoutMs;
      return client;
    });
    const { store, namespace } = await storeOf(pool, runtime);
    const sent: string[] = [];
    await overhear((text) => sent.push(text));
    isSlow = true;
    const attempt = store.pause('a', act, call);
    await expect(attempt).rejects.toBeInstanceOf(UnreachableError);
    await expect(attempt).rejects.toThrow(
      'a pause of jobs was not sent: no connection was free in time.',
    );
    expect(sent).toEqual([]);
    isSlow = false;
    expect(await store.pause('a', act, call)).toMatchObject(act);
    expect(await pausedJobs(namespace)).toEqual(['a']);
    await store.close();
  });

  it('is served by another one that works if no more are to be had', async () => {
    let connects = 0;
    let isCounting = false;
    let refused = () => {};
    let locking = () => {};
    const isRefused = new Promise<void>((resolve) => {
      refused = resolve;
    });
    const isLocking = new Promise<void>((resolve) => {
      locking = resolve;
    });
    const pool = asking((connect) => {
      connects += isCounting ? 1 : 0;
      if (connects < 2) return connect();
      refused();
      return Promise.reject(tooMany());
    });
    const { store, namespace } = await storeOf(pool);
    await overhear((text) => {
      if (text.includes('FOR UPDATE')) locking();
    });
    isCounting = true;
    const other = await database.pool.connect();
    await other.query('BEGIN');
    await other.query("SELECT FROM tenure.jobs WHERE namespace = $1 AND job = 'a' FOR UPDATE", [
      namespace,
    ]);
    const first = store.pause('a', act, call);
    await isLocking;
    const second = store.pause('b', act, call);
    await isRefused;
    await other.query('COMMIT');
    other.release();
    expect(await Promise.all([first, second])).toMatchObject([act, act]);
    expect(await pausedJobs(namespace)).toEqual(['a', 'b']);
    await store.close();
  });

  it('does not fail with those that waited when one was asked for, and is asked one for anew', async () => {
    const asked: ((outcome: Promise<PoolClient>) => void)[] = [];
    let isHeld = false;
    const pool = asking((connect) =>
      isHeld ? new Promise((resolve) => asked.push(resolve)) : connect(),
    );
    const { store, namespace } = await storeOf(pool);
    isHeld = true;
    const first = store.pause('a', act, call);
    await vi.waitUntil(() => asked.length === 1);
    const later = store.pause('b', act, call);
    isHeld = false;
    asked[0]?.(Promise.reject(tooMany()));
    await expect(first).rejects.toMatchObject({
      storeCode: '53300',
      message: expect.stringMatching(/^a pause of jobs was refused/),
    });
    expect(await later).toMatchObject(act);
    expect(await pausedJobs(namespace)).toEqual(['b']);
    await store.close();
  });
});
