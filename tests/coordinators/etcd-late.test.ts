import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type EtcdCoordinator, etcdCoordinator } from '../../src/etcd.js';
import { Gate, Gateway } from '../drivers/etcd/gateway.js';
import { type EtcdCluster, startEtcd } from '../support/servers/index.js';
import { Actor, call, pause, until } from './etcd-stage.js';

vi.setConfig({ testTimeout: 40_000 });

let cluster: EtcdCluster;
const clients: EtcdCoordinator[] = [];
const gateways: Gateway[] = [];

beforeAll(async () => {
  cluster = await startEtcd();
});
afterAll(async () => {
  for (const client of clients) await client.close();
  for (const gateway of gateways) gateway.stop();
  await cluster.stop();
});

const actor = (id: string, url = cluster.url) => {
  const client = etcdCoordinator(url);
  clients.push(client);
  return new Actor(client, id);
};

const open = async () => {
  const gateway = await Gateway.start(cluster.members[0]?.port ?? 0);
  gateways.push(gateway);
  return gateway;
};

const keepAlive = '/v3/lease/keepalive';
const isDeletion = (body: string) => /request_delete_range/.test(body) && !/request_put/.test(body);

/** What a request or its answer may do that is late, while something else happens. */
describe.concurrent('etcd: what comes late', () => {
  it('a withdrawal beside an acquisition leaves the lease that was granted meanwhile', async () => {
    const gateway = await open();
    const [ann, bob] = [actor('ann', gateway.url), actor('bob')];
    await ann.enroll('entered');
    const [reached, go] = [new Gate(), new Gate()];
    gateway.beforeRequest = ({ body }) => {
      if (!isDeletion(body)) return undefined;
      reached.open();
      return go.opened;
    };
    const request = { name: 'entered', holder: ann.holder };
    const withdrawal = ann.client.withdraw([request], call);
    await reached.opened;
    const term = await ann.take('entered');
    go.open();
    await withdrawal;
    expect((await bob.acquire('entered')).outcome).toBe('held');
    expect((await ann.held('entered')).term).toBe(term);
    expect(await bob.client.candidates('entered', call)).toEqual([]);
  });

  it('who ceases to wait beside an acquisition keeps the lease that was granted meanwhile', async () => {
    const gateway = await open();
    const [ann, bob] = [actor('ann', gateway.url), actor('bob')];
    await ann.enroll('observed');
    const [reached, go] = [new Gate(), new Gate()];
    gateway.beforeRequest = ({ body }) => {
      if (!/request_delete_range/.test(body)) return undefined;
      reached.open();
      return go.opened;
    };
    const entry = { name: 'observed', holder: ann.holder, preference: 0, ttlMs: 10_000 };
    const change = ann.client.enroll([{ ...entry, standing: 'observing' }], call);
    await reached.opened;
    gateway.beforeRequest = () => undefined;
    const term = await ann.take('observed');
    go.open();
    await change;
    expect((await bob.acquire('observed')).outcome).toBe('held');
    expect((await ann.held('observed')).term).toBe(term);
  });

  it('a renewal extends the store lease anew: one that was sent before it may be executed already', async () => {
    const gateway = await open();
    const [ann, bob] = [actor('ann', gateway.url), actor('bob')];
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
    await until('the end', 8_000, async () => (await bob.acquire('renewed')).outcome === 'granted');
    expect(performance.now() - sentMs).toBeGreaterThan(ttlMs);
  });

  it('a call keeps its time, though another one with more of it extends the same store lease', async () => {
    const gateway = await open();
    const [ann, bob] = [actor('ann', gateway.url), actor('bob')];
    await ann.take('any', { ttlMs: 3_000 });
    const go = new Gate();
    gateway.beforeAnswer = ({ path }) => (path === keepAlive ? go.opened : undefined);
    const long = ann.acquire('long', { ttlMs: 3_000 }, { timeoutMs: 10_000 });
    const sentMs = performance.now();
    await expect(ann.acquire('short', { ttlMs: 3_000 }, { timeoutMs: 300 })).rejects.toThrow();
    expect(performance.now() - sentMs).toBeLessThan(1_000);
    go.open();
    expect((await long).outcome).toBe('granted');
    expect((await bob.acquire('short')).outcome).toBe('granted');
  });

  it('a call goes on with its own time when one with less of it gave up the store lease of both', async () => {
    const gateway = await open();
    const ann = actor('ann', gateway.url);
    const term = await ann.take('patient', { ttlMs: 4_000 });
    const go = new Gate();
    gateway.beforeAnswer = ({ path }) => (path === keepAlive ? go.opened : undefined);
    const short = ann.acquire('hurried', { ttlMs: 4_000 }, { timeoutMs: 300 });
    const long = ann.renew('patient', term, 4_000, { timeoutMs: 3_000 });
    await expect(short).rejects.toThrow();
    go.open();
    expect(await long).toBe('renewed');
  });
});
