import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { OptionError, StaleTermError } from '../../src/errors/index.js';
import type { FencingToken } from '../../src/fences/contract.js';
import { LeaseEndedError } from '../../src/leases/index.js';
import { type PostgresFence, postgresFence } from '../../src/postgres.js';
import { ann, bob, call, eventually, operator, PostgresFixture } from './postgres-fixture.js';

const fixture = new PostgresFixture();
let pool: pg.Pool;
let fence: PostgresFence;
let nameCount = 0;

beforeAll(async () => {
  pool = new pg.Pool({ connectionString: fixture.url });
  fence = postgresFence(pool, { leases: {} });
  await fence.migrate();
  await pool.query('CREATE TABLE public.data (key text PRIMARY KEY, value text)');
});
afterEach(() => pool.query('TRUNCATE public.data'));
afterAll(() => pool.end());

const newName = () => `fenced-${nameCount++}`;
const put = (client: { query(text: string): Promise<unknown> }) =>
  client.query("INSERT INTO public.data VALUES ('key', 'value')");
const rowCount = async () => (await pool.query('SELECT * FROM public.data')).rowCount;

/** Writes under a token, and expects nothing written and this reason. */
async function refusedAs(token: FencingToken, reason: string): Promise<void> {
  const writing = fence.transaction(token, async (client) => void (await put(client)));
  await expect(writing).rejects.toBeInstanceOf(LeaseEndedError);
  await expect(writing).rejects.toMatchObject({ leaseName: token.name, term: token.term, reason });
  expect(await rowCount()).toBe(0);
}

describe('a fence beside the leases in one database', () => {
  it('lets the holder of a lease write, and go on writing', async () => {
    const name = newName();
    const term = await fixture.speaker().take(name);
    const token = { name, term, holder: ann };
    await fence.claim(token);
    await fence.transaction(token, async (client) => void (await put(client)));
    expect(await rowCount()).toBe(1);
    expect(await fence.installedTerm(name)).toBe(term);
  });

  it('refuses whoever never had the lease, or has another term of it', async () => {
    const name = newName();
    const term = await fixture.speaker().take(name);
    await refusedAs({ name: newName(), term, holder: ann }, 'vanished');
    await refusedAs({ name, term: term + 1, holder: ann }, 'superseded');
    await refusedAs({ name, term, holder: bob }, 'superseded');
    await expect(fence.claim({ name, term, holder: bob })).rejects.toBeInstanceOf(LeaseEndedError);
  });

  it("refuses a lease whose time is over by the server's clock, before anybody else is granted it", async () => {
    const name = newName();
    const term = await fixture.speaker().take(name, { ttlMs: 1_000 });
    const token = { name, term, holder: ann };
    await fence.claim(token);
    await eventually(() => fixture.speaker().read(name)).toBeUndefined();
    await refusedAs(token, 'expired');
  });

  it('ends the lease that it refuses, whatever the clock here says', async () => {
    const token = { name: newName(), term: 7, holder: ann };
    const told: unknown[] = [];
    const lease = { ...token, supersede: (...how: unknown[]) => told.push(how) };
    await refusedAs(lease, 'vanished');
    expect(told).toEqual([[undefined, 'vanished', 'postgres']]);
  });

  it('refuses a lease that was released, taken over or revoked', async () => {
    const one = fixture.speaker();
    const [released, taken, revoked] = [newName(), newName(), newName()];
    const token = { name: released, term: await one.take(released), holder: ann };
    await fence.claim(token);
    await one.release(released, token.term);
    await refusedAs(token, 'vanished');
    const before = { name: taken, term: await one.take(taken), holder: ann };
    await one.release(taken, before.term);
    await one.take(taken, { holder: bob });
    await refusedAs(before, 'superseded');
    const last = { name: revoked, term: await one.take(revoked), holder: ann };
    await one.coordinator.suspend(revoked, operator, call);
    await refusedAs(last, 'revoked');
  });

  it('checks the installed term as well, as always', async () => {
    const name = newName();
    const one = fixture.speaker();
    const term = await one.take(name);
    await postgresFence(pool).claim({ name, term: term + 5, holder: bob });
    const writing = fence.transaction(
      { name, term, holder: ann },
      async (client) => void (await put(client)),
    );
    await expect(writing).rejects.toBeInstanceOf(StaleTermError);
  });

  it('keeps the name from everybody else until the transaction ends, though the lease is over', async () => {
    const name = newName();
    const one = fixture.speaker();
    const term = await one.take(name, { ttlMs: 1_000 });
    const token = { name, term, holder: ann };
    let during: string[] = [];
    await fence.transaction(token, async (client) => {
      await eventually(() => one.read(name)).toBeUndefined();
      const tries = [
        await one.acquire(name, { holder: bob }),
        await one.acquire(name, { holder: bob }),
      ];
      during = tries.map((result) =>
        result.outcome === 'held'
          ? `${result.current.state} ${'remainingMs' in result.current && result.current.remainingMs}`
          : result.outcome,
      );
      await put(client);
    });
    expect(during).toEqual(['held 50', 'held 50']);
    expect(await rowCount()).toBe(1);
    expect(await one.take(name, { holder: bob })).toBeGreaterThan(term);
    await expect(fence.claim(token)).rejects.toBeInstanceOf(LeaseEndedError);
  });

  it('lets its holder renew meanwhile, and release once the transaction has ended', async () => {
    const name = newName();
    const one = fixture.speaker();
    const term = await one.take(name);
    let released: Promise<string> | undefined;
    let isReleased = false;
    await fence.transaction({ name, term, holder: ann }, async (client) => {
      expect(await one.renew(name, term)).toBe('renewed');
      released = one.release(name, term).finally(() => {
        isReleased = true;
      });
      // It is looked at when the transaction has ended.
      released.catch(() => undefined);
      const waiting =
        "SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
      await eventually(() => fixture.sql(waiting)).not.toEqual([{ count: 0 }]);
      await put(client);
      expect(isReleased).toBe(false);
    });
    expect(await released).toBe('ended');
  });

  it("checks in the user's own transaction too, which then cannot commit", async () => {
    const name = newName();
    const term = await fixture.speaker().take(name);
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      await put(client);
      await expect(fence.check(client, { name, term, holder: bob })).rejects.toBeInstanceOf(
        LeaseEndedError,
      );
      await client.query('COMMIT');
      expect(await rowCount()).toBe(0);
    } finally {
      client.release();
    }
  });

  it('looks where it is told to', async () => {
    const elsewhere = postgresFence(pool, { leases: { namespace: 'elsewhere' } });
    const name = newName();
    const token = { name, term: await fixture.speaker().take(name), holder: ann };
    await expect(elsewhere.claim(token)).rejects.toMatchObject({ reason: 'vanished' });
    const there = { ...token, term: await fixture.speaker({ namespace: 'elsewhere' }).take(name) };
    await elsewhere.claim(there);
    for (const leases of [{ schema: 'a"b' }, { namespace: '' }, null])
      expect(() => postgresFence(pool, { leases: leases as never })).toThrow(OptionError);
    const missing = postgresFence(pool, { leases: { schema: 'missing' } });
    await expect(missing.claim(token)).rejects.toThrow(/run migrate|does not exist/);
  });
});
