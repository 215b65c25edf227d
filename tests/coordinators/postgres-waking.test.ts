import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { type Call, Holder } from '../../src/coordinators/index.js';
import { channelOf } from '../../src/coordinators/postgres/channel.js';
import { PostgresListener } from '../../src/drivers/postgres/index.js';
import { realRuntime } from '../../src/time/index.js';
import { FaultProxy } from '../support/proxy.js';
import { ann, bob, call, eventually, PostgresFixture } from './postgres-fixture.js';

const fixture = new PostgresFixture();
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function proxied(): Promise<{ readonly proxy: FaultProxy; readonly url: string }> {
  const url = new URL(fixture.url);
  const proxy = await FaultProxy.start(Number(url.port));
  cleanups.push(() => proxy.stop());
  url.port = String(proxy.port);
  return { proxy, url: url.href };
}

/** Who listens on a channel of this database. */
const listeners = (namespace: string) =>
  fixture.sql<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN ' || $1",
    [channelOf('tenure', namespace)],
  );

/** How many sessions of this database wait for a lock. */
async function waitingSessions(): Promise<number | undefined> {
  const [row] = await fixture.sql<{ count: number }>(
    "SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return row?.count;
}

const waitingFor = (name: string, holder: Holder) =>
  ({ name, holder, standing: 'waiting', preference: 0, ttlMs: 20_000 }) as const;

describe('who waits for a name in PostgreSQL', () => {
  it('is told of a release at once: the first three, in one notification', async () => {
    const owner = fixture.speaker({ namespace: 'release' });
    const term = await owner.take('group/name');
    const calls: Call[][] = [];
    for (let index = 0; index < 5; index += 1) {
      const holder = Holder.create(`waiter-${index}`, realRuntime);
      const heard: Call[] = [];
      calls.push(heard);
      const waiter = fixture.client({ namespace: 'release' });
      waiter.onCalled(holder, (one) => one.name !== undefined && heard.push(one));
      await waiter.enroll([waitingFor('group/name', holder)], call);
    }
    await eventually(() => listeners('release')).toHaveLength(5);
    const client = new pg.Client(fixture.url);
    const told: string[] = [];
    client.on('notification', ({ payload = '' }) => told.push(payload));
    await client.connect();
    cleanups.push(() => client.end());
    await client.query(`LISTEN ${channelOf('tenure', 'release')}`);
    const startedMs = performance.now();
    await owner.release('group/name', term);
    await eventually(() => calls.filter((heard) => heard.length > 0).length, { interval: 5 }).toBe(
      3,
    );
    // Asking would take up to ten seconds.
    expect(performance.now() - startedMs).toBeLessThan(3_000);
    expect(calls.map((heard) => heard[0]?.position)).toEqual([0, 1, 2, undefined, undefined]);
    await eventually(() => told).toHaveLength(1);
    expect(told[0]).not.toContain(ann.wire.slice('ann:'.length));
  });

  it('is called when a lease runs out, without having been told: it asks when the time is over', async () => {
    const owner = fixture.speaker({ namespace: 'expiry' });
    const waiter = fixture.client({ namespace: 'expiry' });
    const heard: [Call, number][] = [];
    await owner.take('group/name', { ttlMs: 600 });
    const takenMs = performance.now();
    await waiter.enroll([waitingFor('group/name', bob)], call);
    waiter.onCalled(
      bob,
      (one) => one.name !== undefined && heard.push([one, performance.now() - takenMs]),
    );
    await eventually(() => heard.length, { interval: 5 }).toBe(1);
    expect(heard[0]?.[0]).toEqual({ name: 'group/name', position: 0 });
    expect(heard[0]?.[1]).toBeGreaterThan(550);
    // Asking without a reason to would take up to ten seconds.
    expect(heard[0]?.[1]).toBeLessThan(4_000);
  });

  it('is called, or is shown that the name is free, if it begins to wait during the release', async () => {
    const namespace = 'race';
    const owner = fixture.speaker({ namespace });
    const waiter = fixture.client({ namespace });
    const heard: Call[] = [];
    waiter.onCalled(bob, (one) => one.name !== undefined && heard.push(one));
    await eventually(() => listeners(namespace)).toHaveLength(1);
    const session = new pg.Client(fixture.url);
    await session.connect();
    cleanups.push(() => session.end());
    const notAfterMs = Date.now() + 60_000;

    // The release is under way, and the enrollment comes: it waits, and sees what came of it.
    const first = await owner.take('released-first');
    await session.query('BEGIN');
    await session.query(
      "SELECT tenure.finish($1, $2, 'unheard', '{released-first}', ARRAY[$3], ARRAY[$4::bigint], '{null}', '{released}', '{null}', '{null}')",
      [namespace, notAfterMs, ann.wire, first],
    );
    const enrolling = waiter.enroll([waitingFor('released-first', bob)], call);
    await eventually(waitingSessions).toBe(1);
    await session.query('COMMIT');
    expect((await enrolling)[0]?.current).toBeUndefined();

    // The enrollment is under way, and the release comes: it waits, and calls whoever is there by then.
    const second = await owner.take('enrolled-first');
    await session.query('BEGIN');
    await session.query(
      "SELECT tenure.enroll($1, $2, '{enrolled-first}', ARRAY[$3], '{bob}', '{waiting}', '{0}', '{20000}', '{null}')",
      [namespace, notAfterMs, bob.digest],
    );
    const releasing = owner.release('enrolled-first', second);
    await eventually(waitingSessions).toBe(1);
    await session.query('COMMIT');
    expect(await releasing).toBe('ended');
    await eventually(() => heard).toContainEqual({ name: 'enrolled-first', position: 0 });
  });

  it('is told that anything may have happened after the connection that listens was lost', async () => {
    const { url } = await proxied();
    const waiter = fixture.client({ namespace: 'lost' }, url);
    const woken: (string | undefined)[] = [];
    waiter.watch('group', (name) => woken.push(name));
    await eventually(() => listeners('lost')).toHaveLength(1);
    await eventually(() => woken.length).toBeGreaterThan(0);
    const [before] = await listeners('lost');
    woken.length = 0;
    await fixture.sql('SELECT pg_terminate_backend($1)', [before?.pid]);
    await eventually(() => listeners('lost')).not.toEqual([before]);
    await eventually(() => woken).toContain(undefined);
    const owner = fixture.speaker({ namespace: 'lost' });
    await owner.release('group/name', await owner.take('group/name'));
    await eventually(() => woken).toContain('group/name');
  });

  it('finds out by asking what no notification has told', async () => {
    const waiter = fixture.client({ namespace: 'deaf' });
    const owner = fixture.speaker({ namespace: 'deaf' });
    const woken: (string | undefined)[] = [];
    await owner.take('group/name', { ttlMs: 800 });
    waiter.watch('group', (name) => woken.push(name));
    await eventually(() => listeners('deaf')).toHaveLength(1);
    // Somebody who knows nothing of notifications.
    await fixture.sql("DELETE FROM tenure.leases WHERE namespace = 'deaf'");
    await eventually(() => woken).toContain('group/name');
  });

  it('costs no connection and no question once nobody listens any more', async () => {
    const { proxy, url } = await proxied();
    const waiter = fixture.client({ namespace: 'idle' }, url);
    const stops = [waiter.watch('group', () => {}), waiter.onCalled(bob, () => {})];
    await eventually(() => listeners('idle')).toHaveLength(1);
    await eventually(() => proxy.connectionCount).toBe(2);
    for (const stop of stops) stop();
    await eventually(() => proxy.connectionCount).toBe(1);
    expect(await listeners('idle')).toEqual([]);
  });
});

describe('the connection that listens', () => {
  it('is given up when its heartbeat has no answer, and there is another one then', async () => {
    const { proxy, url } = await proxied();
    const events: string[] = [];
    const options = {
      runtime: realRuntime,
      connectTimeoutMs: 200,
      heartbeatMs: 100,
      channel: 'tenure_half_open',
    };
    const listener = new PostgresListener(url, options, {
      listening: () => events.push('listening'),
      deaf: () => events.push('deaf'),
      pooled: () => events.push('pooled'),
      heard: (payload) => events.push(payload),
      failed: () => events.push('failed'),
      notify: () => Promise.reject(new Error('a server needs no trial')),
    });
    cleanups.push(() => listener.stop());
    await eventually(() => events).toEqual(['listening']);
    // Half-open: nothing comes through, and nobody says so.
    proxy.up.swallow();
    proxy.down.swallow();
    await eventually(() => events).toContain('deaf');
    proxy.heal();
    await eventually(() => events.at(-1)).toBe('listening');
    await fixture.sql("SELECT pg_notify('tenure_half_open', 'after')");
    await eventually(() => events.at(-1)).toBe('after');
    await listener.stop();
    await fixture.sql("SELECT pg_notify('tenure_half_open', 'late')");
    expect(events.at(-1)).toBe('after');
  });
});
