import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type EtcdCoordinator, etcdCoordinator } from '../../src/etcd.js';
import { FaultProxy } from '../support/proxy.js';
import { type EtcdCluster, startEtcd } from '../support/servers/index.js';
import { until } from '../support/until.js';
import { Actor, call, pause } from './etcd-stage.js';

vi.setConfig({ testTimeout: 30_000 });

let cluster: EtcdCluster;
const clients: EtcdCoordinator[] = [];

beforeAll(async () => {
  cluster = await startEtcd();
});
afterAll(async () => {
  for (const client of clients) await client.close();
  await cluster.stop();
});

const actor = (id: string, url = cluster.url) => {
  const client = etcdCoordinator(url);
  clients.push(client);
  return new Actor(client, id);
};

async function leasesOf(prefix: string): Promise<number[]> {
  const { kvs = [] } = JSON.parse(await cluster.etcdctl('get', '--prefix', prefix, '-w', 'json'));
  return kvs.map(({ lease }: { lease: number }) => lease);
}

/** The requests that pass a proxy, as one text each. */
async function recorded(): Promise<{ url: string; proxy: FaultProxy; requests: string[] }> {
  const proxy = await FaultProxy.start(cluster.members[0]?.port ?? 0);
  const requests: string[] = [];
  proxy.up.set({
    kind: 'judge',
    fateOf: (bytes) => {
      const text = bytes.toString('latin1');
      if (/^(?:POST|GET) /.test(text)) requests.push(text);
      return 'none';
    },
  });
  return { url: `etcd://127.0.0.1:${proxy.port}`, proxy, requests };
}

describe.concurrent('the store leases of a coordinator', () => {
  it('one of them keeps every name of a ttl, and one message a renewal extends it', async () => {
    const { url, proxy, requests } = await recorded();
    const ann = actor('ann', url);
    const names = Array.from({ length: 300 }, (_, index) => `many-${index}`);
    const granted = await ann.client.acquire(
      names.map((name) => ({ name, holder: ann.holder, attempt: 'a'.repeat(32), ttlMs: 10_000 })),
      { timeoutMs: 10_000 },
    );
    expect(new Set(await leasesOf('many-')).size).toBe(1);
    const own = names.map((name, index) => {
      const result = granted[index];
      return { name, holder: ann.holder, term: result?.outcome === 'granted' ? result.term : 0 };
    });
    requests.length = 0;
    const renewals = await ann.client.renew(
      own.map((request) => ({ ...request, ttlMs: 10_000 })),
      call,
    );
    expect(renewals.every(({ outcome }) => outcome === 'renewed')).toBe(true);
    const paths = requests.map((text) => /^POST (\S+)/.exec(text)?.[1]);
    expect(paths.filter((path) => path === '/v3/lease/keepalive')).toHaveLength(1);
    // 300 comparisons, 127 in each.
    expect(paths.filter((path) => path === '/v3/kv/txn')).toHaveLength(3);
    const ends = await ann.client.release(own, { timeoutMs: 10_000 });
    expect(ends.every(({ outcome }) => outcome === 'ended')).toBe(true);
    await ann.client.close();
    await proxy.stop();
  });

  it('a name that is not renewed ends in its time, though others keep the store lease alive', async () => {
    const [ann, bob] = [actor('ann'), actor('bob')];
    const kept = await ann.take('kept');
    await ann.take('left');
    const startedMs = performance.now();
    await until('the end of the other name', async () => {
      expect(await ann.renew('kept', kept)).toBe('renewed');
      const [record] = await bob.client.read(['left'], call);
      return record === undefined;
    });
    const tookMs = performance.now() - startedMs;
    expect(tookMs).toBeGreaterThan(1_800);
    expect(tookMs).toBeLessThan(6_000);
    expect((await bob.acquire('kept')).outcome).toBe('held');
  });

  it('what a process leaves behind that is gone ends with its store lease', async () => {
    const [ann, bob] = [actor('ann'), actor('bob')];
    const term = await ann.take('gone', { graceMs: 2_000, keepHistory: true });
    // As a process that has died: nothing of it renews or removes anything any more.
    await ann.client.close();
    await until('a lock-delay', async () => {
      const [record] = await bob.client.read(['gone'], call);
      return record?.state === 'lock-delay' && record.term === term;
    });
    expect((await bob.acquire('gone')).outcome).toBe('held');
    expect(await bob.wins('gone')).toBeGreaterThan(term);
    const [line] = await bob.client.history('gone', call);
    expect(line).toMatchObject({ kind: 'term', term, endReason: 'expired' });
  });

  it('a store lease that ends too early is a loss that its holders are told of at once', async () => {
    const ann = actor('ann');
    let lostCount = 0;
    ann.client.onConnectionLost(() => {
      lostCount += 1;
    });
    const term = await ann.take('revoked', { ttlMs: 20_000 });
    const [lease] = await leasesOf('revoked/');
    const text = await cluster.etcdctl('lease', 'list');
    expect(lease).toBeGreaterThan(0);
    // JSON numbers lose digits: the key tells the id.
    const hex = /revoked\/([0-9a-f]+)-/.exec(
      await cluster.etcdctl('get', '--prefix', 'revoked/'),
    )?.[1];
    expect(text).toContain(hex);
    await pause(200);
    expect(lostCount).toBe(0);
    await cluster.etcdctl('lease', 'revoke', hex ?? '');
    await until('word of the loss', async () => lostCount > 0);
    expect(await ann.renew('revoked', term, 20_000)).toBe('vanished');
    expect(await ann.take('revoked')).toBeGreaterThan(term);
  });

  it('with it goes all that hung on it, which is asked and told of a few times, not once for each name', async () => {
    const { url, proxy, requests } = await recorded();
    const ann = actor('ann', url);
    let lostCount = 0;
    ann.client.onConnectionLost(() => {
      lostCount += 1;
    });
    const names = Array.from({ length: 60 }, (_, index) => `ended-${index}`);
    const parts = { holder: ann.holder, ttlMs: 20_000 };
    await ann.client.acquire(
      names.map((name) => ({ name, attempt: 'b'.repeat(32), ...parts })),
      call,
    );
    const hex = /ended-0\/([0-9a-f]+)-/.exec(
      await cluster.etcdctl('get', '--prefix', 'ended-0/'),
    )?.[1];
    await pause(1_000);
    requests.length = 0;
    await cluster.etcdctl('lease', 'revoke', hex ?? '');
    await until('word of the loss', async () => lostCount > 0);
    await pause(500);
    expect(lostCount).toBeLessThan(10);
    expect(requests.filter((text) => !text.includes('/v3/watch')).length).toBeLessThan(20);
    proxy.up.heal();
  });

  it('a key that somebody deletes is a loss that its holder is told of at once, also right after the grant', async () => {
    for (const [name, afterMs] of [
      ['deleted-early', 0],
      ['deleted', 600],
    ] as const) {
      const ann = actor('ann');
      let lostCount = 0;
      ann.client.onConnectionLost(() => {
        lostCount += 1;
      });
      const term = await ann.take(name, { ttlMs: 20_000 });
      await pause(afterMs);
      expect(lostCount).toBe(0);
      await cluster.etcdctl('del', '--prefix', `${name}/`);
      await until('word of the loss', async () => lostCount > 0);
      expect(await ann.renew(name, term, 20_000)).toBe('vanished');
      expect(await ann.take(name)).toBeGreaterThan(term);
    }
  });

  // What it compacts is everybody’s past.
  it.sequential('a key that somebody deletes is a loss that its holder is told of, be its past compacted just after the grant', async () => {
    const ann = actor('ann');
    let lostCount = 0;
    ann.client.onConnectionLost(() => {
      lostCount += 1;
    });
    await ann.take('compacted', { ttlMs: 20_000 });
    // Its watch would ask for what happened since the grant.
    for (let round = 0; round < 3; round++) await cluster.etcdctl('put', 'other', `${round}`);
    const status = JSON.parse(await cluster.etcdctl('endpoint', 'status', '-w', 'json'));
    await cluster.etcdctl('compact', String(status[0].Status.header.revision));
    // The watch begins anew, and then all is looked at.
    await until('a look after the compaction', async () => lostCount > 0);
    const before = lostCount;
    await cluster.etcdctl('del', '--prefix', 'compacted/');
    await until('word of the loss', async () => lostCount > before);
  });

  it('a name that is given back is no loss, whichever client of its holder gives it back', async () => {
    const ann = actor('ann');
    const thread = actor('ann');
    let lostCount = 0;
    for (const { client } of [ann, thread])
      client.onConnectionLost(() => {
        lostCount += 1;
      });
    const taken = ['given-back', 'given-back-by-another', 'given-on'];
    const terms = await Promise.all(taken.map((name) => ann.take(name, { ttlMs: 20_000 })));
    const [first = 0, second = 0, third = 0] = terms;
    await pause(600);
    await ann.release('given-back', first);
    const release = { name: 'given-back-by-another', holder: ann.holder, term: second };
    expect(await thread.client.release([release], call)).toEqual([{ outcome: 'ended' }]);
    const handoff = { name: 'given-on', holder: ann.holder, term: third, to: 'b', reserveMs: 500 };
    expect(await ann.client.handoff([handoff], call)).toEqual([{ outcome: 'ended' }]);
    await pause(500);
    expect(lostCount).toBe(0);
  });

  it('another client of the same holder can renew, and then it is that one which keeps the lease', async () => {
    const ann = actor('ann');
    const thread = actor('ann');
    const term = await ann.take('moved');
    const renewal = { name: 'moved', holder: ann.holder, term, ttlMs: 2_000 };
    for (let round = 0; round < 6; round++) {
      expect(await thread.client.renew([renewal], call)).toEqual([{ outcome: 'renewed' }]);
      await pause(500);
    }
    // Well past the time that the first client would have ended it.
    expect((await ann.held('moved')).term).toBe(term);
    expect(await ann.renew('moved', term)).toBe('renewed');
    await pause(1_500);
    expect(await ann.renew('moved', term)).toBe('renewed');
  });

  it('an acquisition whose answer is lost is looked for at another member, and found by its attempt', async () => {
    const proxy = await FaultProxy.start(cluster.members[0]?.port ?? 0);
    const direct = cluster.url.replace('etcd://', '');
    const ann = actor('ann', `etcd://127.0.0.1:${proxy.port},${direct}`);
    await ann.client.read(['found'], call);
    let isLosing = false;
    proxy.up.set({
      kind: 'judge',
      fateOf: (bytes) => {
        if (bytes.includes('request_put')) isLosing = true;
        return 'none';
      },
    });
    proxy.down.set({ kind: 'judge', fateOf: () => (isLosing ? 'swallow' : 'none') });
    const term = await ann.take('found');
    expect(isLosing).toBe(true);
    expect((await leasesOf('found/')).length).toBe(1);
    expect((await ann.held('found')).term).toBe(term);
    await ann.client.close();
    await proxy.stop();
  });

  it('an acquisition whose answer is lost and that nobody undoes ends in its time', async () => {
    const proxy = await FaultProxy.start(cluster.members[0]?.port ?? 0);
    const ann = actor('ann', `etcd://127.0.0.1:${proxy.port}`);
    const bob = actor('bob');
    // Something else keeps the store lease alive.
    const kept = await ann.take('unknown-kept');
    let isLosing = false;
    proxy.up.set({
      kind: 'judge',
      fateOf: (bytes) => {
        if (bytes.includes('request_put')) isLosing = true;
        return 'none';
      },
    });
    proxy.down.set({ kind: 'judge', fateOf: () => (isLosing ? 'swallow' : 'none') });
    await expect(ann.acquire('unknown', {}, { timeoutMs: 500 })).rejects.toThrow(/may have been/);
    proxy.heal();
    expect((await bob.acquire('unknown')).outcome).toBe('held');
    await until('the end', async () => {
      await ann.renew('unknown-kept', kept).catch(() => undefined);
      return (await bob.acquire('unknown')).outcome === 'granted';
    });
    await ann.client.close();
    await proxy.stop();
  });
});

describe.concurrent('a watch that is stopped', () => {
  it('is no lost connection, although it took one over from earlier requests', async () => {
    const proxy = await FaultProxy.start(cluster.members[0]?.port ?? 0);
    const { client } = actor('ann', `etcd://127.0.0.1:${proxy.port}`);
    let lostCount = 0;
    client.onConnectionLost(() => {
      lostCount += 1;
    });
    await Promise.all(['a', 'b', 'c'].map((name) => client.read([`stopped-${name}`], call)));
    const idleCount = proxy.connectionCount;
    let isWoken = false;
    const stop = client.watch('stopped-watch', () => {
      isWoken = true;
    });
    await until('a wake', async () => {
      const act = { by: 'operator', reason: 'test' };
      await client.suspend('stopped-watch/name', act, call);
      await client.resume('stopped-watch/name', act, call);
      return isWoken;
    });
    stop();
    await until('its end', async () => proxy.connectionCount < idleCount);
    expect(lostCount).toBe(0);
    await proxy.stop();
  });
});
