import { Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { UnreachableError } from '../../src/errors/index.js';
import { postgresJobs } from '../../src/postgres.js';
import { call, definition, tokenOf } from '../../src/schedule/conformance/scene.js';
import { FaultProxy } from '../support/proxy.js';
import { JobsDatabase } from './postgres-database.js';

const database = new JobsDatabase(2);

const definitionsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ ...definition, job: `job-${index}` }));

/** A store, and how many messages it has sent, each of which it waits for the answer to. */
function counted(namespace: string) {
  let sentCount = 0;
  const own = new Pool({ connectionString: database.url, max: 1 });
  own.on('connect', (client) => {
    const query = client.query.bind(client) as (...asked: unknown[]) => unknown;
    Reflect.set(client, 'query', (...asked: unknown[]) => {
      sentCount += 1;
      return query(...asked);
    });
  });
  const store = postgresJobs(own, { namespace });
  const close = async () => {
    await store.close();
    await own.end();
  };
  return { store, sent: () => sentCount, close };
}

describe('a claim of jobs in PostgreSQL', () => {
  it.each([1, 2])('takes as many round trips for 50 jobs as for one: term %i', async (term) => {
    const sent: number[] = [];
    for (const count of [1, 50]) {
      const { store, sent: sentNow, close } = counted(`trips-${count}`);
      const results = await store.claim(tokenOf(term), definitionsOf(count), undefined, call);
      expect(results.map(({ outcome }) => outcome)).toEqual(Array(count).fill('claimed'));
      const jobs = results.map((one) => (one.outcome === 'claimed' ? one.view.record.job : ''));
      expect(jobs).toEqual(definitionsOf(count).map(({ job }) => job));
      sent.push(sentNow());
      await close();
    }
    expect(sent[1]).toBe(sent[0]);
    expect(sent[1]).toBeLessThanOrEqual(8);
  });

  it('is not held up by another claim of the same jobs in another order', async () => {
    const stores = [1, 2, 3, 4].map(() => postgresJobs(database.url, { namespace: 'crossed' }));
    const forwards = definitionsOf(50);
    const backwards = [...forwards].reverse();
    const token = tokenOf(1);
    for (let round = 0; round < 5; round++) {
      const claims = stores.map((store, index) =>
        store.claim(token, index % 2 === 0 ? forwards : backwards, undefined, call),
      );
      for (const results of await Promise.all(claims))
        expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(['claimed']));
    }
    await Promise.all(stores.map((store) => store.close()));
  });

  it('that gets a connection too late is not sent, and leaves the connection to others', async () => {
    const own = new Pool({ connectionString: database.url, max: 1 });
    let openedCount = 0;
    own.on('connect', () => {
      openedCount += 1;
    });
    const store = postgresJobs(own, { namespace: 'queued' });
    const other = await own.connect();
    const claim = store
      .claim(tokenOf(1), definitionsOf(1), undefined, { timeoutMs: 20 })
      .catch((reason: unknown) => reason);
    await new Promise((resolve) => setTimeout(resolve, 100));
    other.release();
    expect(await claim).toMatchObject({
      ...{ code: 'TENURE_UNREACHABLE' },
      message: 'claim of jobs was not sent: no connection was free in time.',
    });
    await store.claim(tokenOf(1), definitionsOf(1), undefined, call);
    expect(openedCount).toBe(1);
    await store.close();
    await own.end();
  });

  it.each(['BEGIN', 'INSERT INTO'])(
    'that gets no answer in time to its %s says that, and not that the connection was lost',
    async (statement) => {
      const there = new URL(database.url);
      const proxy = await FaultProxy.start(Number(there.port), there.hostname);
      const through = new URL(database.url);
      through.host = `127.0.0.1:${proxy.port}`;
      const store = postgresJobs(String(through), { namespace: 'late' });
      try {
        await store.claim(tokenOf(1), definitionsOf(1), undefined, call);
        const fateOf = (bytes: Buffer) => (bytes.includes(statement) ? 'swallow' : 'none');
        proxy.up.set({ kind: 'judge', fateOf });
        const error: unknown = await store
          .claim(tokenOf(2), definitionsOf(1), undefined, { timeoutMs: 300 })
          .catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(UnreachableError);
        expect((error as Error).message).toBe(
          'claim of jobs failed: PostgreSQL gave no answer within 300 ms before the commit, so nothing was written; try again.',
        );
      } finally {
        await store.close();
        await proxy.stop();
      }
    },
  );
});
