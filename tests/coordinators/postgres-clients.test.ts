import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import {
  ClosedError,
  OptionError,
  OutcomeUnknownError,
  StoreMisconfiguredError,
  UnreachableError,
} from '../../src/errors/index.js';
import { postgresCoordinator } from '../../src/postgres.js';
import { realRuntime } from '../../src/time/index.js';
import { FaultProxy } from '../support/proxy.js';
import { ann, bob, call, eventually, PostgresFixture, Speaker } from './postgres-fixture.js';

const fixture = new PostgresFixture();
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function openPool(url = fixture.url, max = 3): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max });
  pool.on('error', () => {});
  cleanups.push(() => pool.end());
  return pool;
}

/** The fixture's database behind a proxy. */
async function proxied(): Promise<{ readonly proxy: FaultProxy; readonly url: string }> {
  const url = new URL(fixture.url);
  const proxy = await FaultProxy.start(Number(url.port));
  cleanups.push(() => proxy.stop());
  url.port = String(proxy.port);
  return { proxy, url: url.href };
}

describe('a client of the caller', () => {
  it('is a pool: it serves all operations, and is left open', async () => {
    const pool = openPool();
    const one = new Speaker(postgresCoordinator(pool, { namespace: 'pool' }));
    const term = await one.take('name', { keepHistory: true });
    expect(await one.acquire('name', { holder: bob })).toMatchObject({ outcome: 'held' });
    expect(await one.renew('name', term)).toBe('renewed');
    const entry = {
      name: 'name',
      holder: bob,
      standing: 'waiting',
      preference: 0,
      ttlMs: 5_000,
    } as const;
    expect((await one.coordinator.enroll([entry], call))[0]).toMatchObject({ position: 0 });
    expect(await one.release('name', term)).toBe('ended');
    expect(await one.coordinator.history('name', call)).toHaveLength(1);
    await one.coordinator.close();
    await expect(one.read('name')).rejects.toBeInstanceOf(ClosedError);
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    expect(pool.idleCount).toBe(pool.totalCount);
  });

  it('is refused while it is inside a transaction of its own: a rollback would take a lease back', async () => {
    const client = new pg.Client(fixture.url);
    await client.connect();
    cleanups.push(() => client.end());
    const coordinator = postgresCoordinator(client, { namespace: 'inside' });
    const one = new Speaker(coordinator);
    await client.query('BEGIN');
    await expect(one.acquire('name')).rejects.toBeInstanceOf(StoreMisconfiguredError);
    await expect(one.acquire('name')).rejects.toThrow(/inside a transaction/);
    await client.query('ROLLBACK');
    expect(await one.take('name')).toBeGreaterThan(0);
    await coordinator.close();
  });

  it.each([
    ['', false, true],
    [', whose BEGIN is on its way', false, false],
    [', and that cannot tell by itself', true, true],
  ])(
    'is a pool with a client that its last user left inside a transaction%s: no lease is granted there',
    async (_, isUntold, isAwaited) => {
      const pool = openPool(fixture.url, 1);
      const coordinator = postgresCoordinator(pool, { namespace: `left${isUntold}${isAwaited}` });
      const one = new Speaker(coordinator);
      await one.read('name');
      const client = await pool.connect();
      if (isUntold) Reflect.set(client, 'getTransactionStatus', undefined);
      const begun = client.query('BEGIN');
      if (isAwaited) await begun;
      client.release();
      await expect(one.acquire('name')).rejects.toMatchObject({
        ...{ code: 'TENURE_STORE_REFUSED', storeCode: 'TN013' },
        message: expect.stringContaining('acquire was refused, nothing was written'),
      });
      expect(await one.read('name')).toBeUndefined();
      expect(await one.take('name')).toBeGreaterThan(0);
      const other = postgresCoordinator(fixture.url, { namespace: `left${isUntold}${isAwaited}` });
      expect(await new Speaker(other).read('name')).toBeDefined();
      await Promise.all([coordinator.close(), other.close()]);
    },
  );

  it('is a client, or anything with its query', async () => {
    const client = new pg.Client(fixture.url);
    await client.connect();
    cleanups.push(() => client.end());
    const wrapped = { query: (text: string, values?: unknown[]) => client.query(text, values) };
    for (const source of [client, wrapped]) {
      const one = new Speaker(postgresCoordinator(source, { namespace: 'client' }));
      const term = await one.take('name');
      expect(await one.release('name', term)).toBe('ended');
      await one.coordinator.close();
    }
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('is told by asking that a name is free, whoever freed it', async () => {
    const pool = openPool();
    const waiter = fixture.client({ namespace: 'asks' }, pool);
    const owner = fixture.speaker({ namespace: 'asks' });
    const term = await owner.take('group/name');
    const woken: (string | undefined)[] = [];
    const calls: (string | undefined)[] = [];
    waiter.watch('group', (name) => woken.push(name));
    waiter.onCalled(bob, ({ name }) => calls.push(name));
    const entry = {
      name: 'group/name',
      holder: bob,
      standing: 'waiting',
      preference: 0,
      ttlMs: 5_000,
    } as const;
    await waiter.enroll([entry], call);
    await eventually(() => woken.length).toBe(1);
    await owner.release('group/name', term);
    await eventually(() => [woken.at(-1), calls.at(-1)]).toEqual(['group/name', 'group/name']);
  });

  it('loses the connection of a pool on which nothing was answered, and no other', async () => {
    const { proxy, url } = await proxied();
    const pool = openPool(url);
    const one = new Speaker(fixture.client({ namespace: 'hung' }, pool));
    const lost: string[] = [];
    one.coordinator.onConnectionLost(() => lost.push('lost'));
    await one.take('warm');
    proxy.down.swallow();
    const request = { name: 'name', holder: ann, attempt: 'b'.repeat(32), ttlMs: 60_000 };
    const hanging = one.coordinator.acquire([request], { timeoutMs: 200 });
    await expect(hanging).rejects.toBeInstanceOf(OutcomeUnknownError);
    expect(lost).toEqual(['lost']);
    expect(pool.totalCount).toBe(0);
    proxy.heal();
    expect(await one.acquire('name', { attempt: request.attempt })).toMatchObject({
      outcome: 'granted',
    });
  });

  it('may be in use by others: a call settles within its timeout, and was not sent', async () => {
    const pool = openPool(fixture.url, 1);
    const taken = await pool.connect();
    const one = fixture.client({ namespace: 'busy' }, pool);
    const waiting = one.read(['name'], { timeoutMs: 100 });
    await expect(waiting).rejects.toBeInstanceOf(UnreachableError);
    taken.release();
    expect(await one.read(['name'], call)).toEqual([undefined]);
    expect(pool.idleCount).toBe(1);
  });

  it('is refused if it is none', () => {
    for (const source of [undefined, null, 5, {}, 'mysql://host', 'not a url'])
      expect(() => postgresCoordinator(source as never)).toThrow(OptionError);
    for (const options of [
      { namespace: '' },
      { connectTimeoutMs: 0 },
      { maxConnections: 0.5 },
      { schema: 'a b' },
    ])
      expect(() => postgresCoordinator(fixture.url, options)).toThrow(OptionError);
  });
});

describe('connections of a coordinator', () => {
  it('are as few as its calls need, and a renewal finds one though all are in use', async () => {
    const { proxy, url } = await proxied();
    const one = new Speaker(fixture.client({ maxConnections: 2, namespace: 'few' }, url));
    const term = await one.take('name');
    expect(proxy.connectionCount).toBe(1);
    const blocker = new pg.Client(fixture.url);
    await blocker.connect();
    cleanups.push(() => blocker.end());
    await blocker.query('BEGIN; LOCK TABLE tenure.documents IN ACCESS EXCLUSIVE MODE');
    const blocked = [1, 2, 3].map((number) =>
      one.coordinator.writeDocument(`document-${number}`, 'text', 0, call),
    );
    await eventually(() => proxy.connectionCount).toBe(2);
    expect(await one.renew('name', term)).toBe('renewed');
    expect(proxy.connectionCount).toBe(3);
    await blocker.query('ROLLBACK');
    expect((await Promise.all(blocked)).map(({ outcome }) => outcome)).toEqual(
      Array(3).fill('written'),
    );
  });

  it('are not tried again and again at once while the server cannot be reached', async () => {
    const { proxy, url } = await proxied();
    proxy.refuse(true);
    const one = fixture.client({ connectTimeoutMs: 500 }, url);
    const reading = one.read(['name'], { timeoutMs: 400 });
    await expect(reading).rejects.toBeInstanceOf(UnreachableError);
    await expect(reading).rejects.toThrow(
      /was not sent: no connection to 127\.0\.0\.1:\d+ in time/,
    );
  });

  it('say what is wrong with the login at once, and never the password', async () => {
    const url = new URL(fixture.url);
    url.password = 'wrong-secret';
    const reading = fixture.client({}, url).read(['name'], call);
    await expect(reading).rejects.toBeInstanceOf(StoreMisconfiguredError);
    await expect(reading).rejects.toThrow(/password was not accepted/);
    await expect(reading).rejects.not.toThrow(/wrong-secret/);
  });

  it('can be made again in another thread, by what is no property of the coordinator', async () => {
    const one = fixture.speaker({ namespace: 'recipe' });
    const { recipe } = one.coordinator;
    expect(Object.keys(one.coordinator)).not.toContain('recipe');
    const module = await import(recipe?.module ?? '');
    const other = new Speaker(module[recipe?.factory ?? ''](...(recipe?.args ?? [])));
    const term = await one.take('name');
    expect(await other.acquire('name', { holder: bob })).toMatchObject({
      outcome: 'held',
      current: { term },
    });
    await other.coordinator.close();
    const pool = openPool();
    expect(fixture.client({}, pool).recipe).toBeUndefined();
  });

  it('use the clock they are given', async () => {
    let timerCount = 0;
    const runtime = {
      ...realRuntime,
      setTimer: (...values: Parameters<typeof realRuntime.setTimer>) => {
        timerCount += 1;
        return realRuntime.setTimer(...values);
      },
    };
    await fixture.client({ runtime }).read(['name'], call);
    expect(timerCount).toBeGreaterThan(0);
  });
});
