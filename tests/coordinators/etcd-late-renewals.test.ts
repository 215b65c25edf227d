import { describe, expect, it, vi } from 'vitest';
import { OutcomeUnknownError } from '../../src/errors/index.js';
import { Gate } from '../drivers/etcd/gateway.js';
import { until } from '../support/until.js';
import { isDeletion, isEnd, keepAlive, useEtcd } from './etcd-late-stage.js';
import { call, pause } from './etcd-stage.js';

vi.setConfig({ testTimeout: 40_000 });

const onEtcd = useEtcd();
const { stage } = onEtcd;

/** What a request or its answer may do that is late, while something else happens. */
describe.concurrent('etcd: renewals that come late', () => {
  it('a renewal extends the store lease anew: one that was sent before it may be executed already', async () => {
    const { gateway, ann, bob } = await stage();
    const ttlMs = 3_000;
    const term = await ann.take('renewed', { ttlMs });
    const [answered, go] = [new Gate(), new Gate()];
    gateway.beforeAnswer = ({ path }) => {
      if (path !== keepAlive) return undefined;
      gateway.beforeAnswer = () => undefined;
      answered.open();
      return go.opened;
    };
    const other = ann.acquire('other', { ttlMs }, { timeoutMs: 10_000 });
    await answered.opened;
    await pause(1_900);
    const sentMs = performance.now();
    expect(await ann.renew('renewed', term, ttlMs, { timeoutMs: 900 })).toBe('renewed');
    go.open();
    await other;
    await ann.client.close();
    await until('the end', async () => (await bob.acquire('renewed')).outcome === 'granted');
    expect(performance.now() - sentMs).toBeGreaterThan(ttlMs);
  });

  it('a call keeps its time, though another one with more of it extends the same store lease', async () => {
    const { gateway, ann, bob } = await stage();
    await ann.take('any', { ttlMs: 3_000 });
    const go = new Gate();
    gateway.beforeAnswer = ({ path }) => (path === keepAlive ? go.opened : undefined);
    const long = ann.acquire('long', { ttlMs: 3_000 }, { timeoutMs: 10_000 });
    const sentMs = performance.now();
    await expect(ann.acquire('short', { ttlMs: 3_000 }, { timeoutMs: 300 })).rejects.toThrow();
    expect(performance.now() - sentMs).toBeLessThan(5_000);
    go.open();
    expect((await long).outcome).toBe('granted');
    expect((await bob.acquire('short')).outcome).toBe('granted');
  });

  it('a call goes on with its own time when one with less of it gave up the store lease of both', async () => {
    const { gateway, ann } = await stage();
    const term = await ann.take('patient', { ttlMs: 4_000 });
    const go = new Gate();
    gateway.beforeAnswer = ({ path }) => (path === keepAlive ? go.opened : undefined);
    const short = ann.acquire('hurried', { ttlMs: 4_000 }, { timeoutMs: 300 });
    const long = ann.renew('patient', term, 4_000, { timeoutMs: 3_000 });
    await expect(short).rejects.toThrow();
    go.open();
    expect(await long).toBe('renewed');
  });

  it('a lease whose time is over is not revived while its end cannot be written', async () => {
    const { gateway, ann, bob } = await stage();
    const [term, kept] = [await ann.take('over'), await ann.take('alive')];
    const go = new Gate();
    // The end, and nothing else, fails each time.
    gateway.beforeRequest = ({ body }) => (isDeletion(body) ? go.opened : undefined);
    for (let round = 0; round < 7; round++) {
      await pause(500);
      expect(await ann.renew('alive', kept)).toBe('renewed');
    }
    expect((await bob.held('over')).term).toBe(term);
    for (let round = 0; round < 8; round++) {
      const renewal = ann.renew('over', term, 2_000, { timeoutMs: 100 });
      expect(await renewal.catch(() => 'no answer')).not.toBe('renewed');
      await pause(50);
      expect(await ann.renew('alive', kept)).toBe('renewed');
    }
    gateway.beforeRequest = () => undefined;
    go.open();
    await until('the end', async () => (await bob.acquire('over')).outcome === 'granted');
  });

  it('a renewal that is answered after its lease was ended is no success', async () => {
    const { gateway, ann } = await stage();
    const term = await ann.take('ended');
    await pause(1_500);
    const [confirmed, go] = [new Gate(), new Gate()];
    gateway.beforeAnswer = ({ body }) => {
      if (!/request_put/.test(body) || isEnd(body)) return undefined;
      confirmed.open();
      return go.opened;
    };
    const renewal = ann.renew('ended', term, 2_000, { timeoutMs: 5_000 });
    await confirmed.opened;
    await until('the end', async () => {
      const [record] = await ann.client.read(['ended'], call);
      return record === undefined;
    });
    gateway.beforeAnswer = () => undefined;
    go.open();
    expect(await renewal).toBe('vanished');
  });

  it('a batch of renewals of which some were made is no clean failure', async () => {
    const { gateway, ann, namespace } = await stage();
    const names = [
      { name: 'short', ttlMs: 3_000 },
      { name: 'long', ttlMs: 5_000 },
    ];
    const requests = [];
    for (const { name, ttlMs } of names)
      requests.push({ name, ttlMs, holder: ann.holder, term: await ann.take(name, { ttlMs }) });
    const leaseOfLong = await onEtcd.cluster.etcdctl(
      'get',
      '--prefix',
      `${namespace}:long/`,
      '-w',
      'json',
    );
    const id = /"lease":(\d+)/.exec(leaseOfLong)?.[1] ?? '';
    const denied = { code: 7, message: 'permission denied' };
    gateway.refuses = ({ path, body }) =>
      path === keepAlive && body.includes(id) ? denied : undefined;
    const error = await ann.client.renew(requests, call).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error.message).toMatch(/in part/);
  });
});
