import { describe, expect, it } from 'vitest';
import { Holder } from '../../src/coordinators/index.js';
import { realRuntime } from '../../src/time/index.js';
import { FaultProxy } from '../support/proxy.js';
import { startRedis } from '../support/servers/index.js';
import { startRedisQuorum } from '../support/servers/redis-quorum.js';
import { act, call, longMs, QuorumActor, RedisQuorumFixture } from './redis-quorum-fixture.js';

const fixture = new RedisQuorumFixture();

/** Much shorter than the time that one node may take here. */
const promptMs = 900;
const patient = { nodeTimeoutMs: 1_000 };

async function promptly<T>(action: () => Promise<T>): Promise<T> {
  const startedAtMs = performance.now();
  const result = await action();
  expect(performance.now() - startedAtMs).toBeLessThan(promptMs);
  return result;
}

describe('a minority that fails', () => {
  it('by being frozen costs nobody a timeout: names are granted, renewed, suspended and released', async () => {
    const ann = await fixture.actor('ann', patient);
    const bob = await fixture.actor('bob', patient);
    fixture.freeze(1, 3);
    const term = await promptly(() => ann.take('job', { keepHistory: true }));
    expect(await promptly(() => bob.isKeptOut('job'))).toBe('held');
    expect(await promptly(() => ann.renew('job', term))).toBe('renewed');
    await promptly(() => bob.client.suspend('job', act, call));
    expect(await promptly(() => ann.renew('job', term))).toBe('revoked');
    expect(await promptly(() => ann.release('job', term))).toBe('ended');
    expect(await promptly(() => bob.client.resume('job', act, call))).toBe(true);
    expect(await promptly(() => bob.take('job'))).toBeGreaterThan(term);
    fixture.thaw(1, 3);
  });

  it('by being killed costs no lease, and comes back', async () => {
    const ann = await fixture.actor('ann', patient);
    const bob = await fixture.actor('bob', patient);
    const term = await ann.take('job');
    await Promise.all([fixture.nodes[0]?.kill(), fixture.nodes[4]?.kill()]);
    expect(await ann.renew('job', term)).toBe('renewed');
    expect(await bob.isKeptOut('job')).toBe('held');
    expect(await bob.take('other')).toBeGreaterThan(term);
    for (const number of [0, 4]) await fixture.nodes[number]?.restart({ keepData: true });
    expect(await ann.renew('job', term)).toBe('renewed');
  });

  it('and is followed by another one costs no lease: renewals bring it to the nodes that came back', async () => {
    const ann = await fixture.actor('ann');
    const bob = await fixture.actor('bob');
    const term = await fixture.unheardBy([3, 4], ann, () => ann.take('job', { keepHistory: true }));
    expect((await fixture.textsOf('lease:job')).slice(3)).toEqual([null, null]);
    // Each renewal may find a node that is not reached again yet.
    await expect
      .poll(async () => {
        expect(await ann.renew('job', term)).toBe('renewed');
        const texts = await fixture.textsOf('lease:job');
        return texts.filter((text) => text !== null).length;
      })
      .toBe(5);
    fixture.freeze(0, 1);
    expect(await ann.renew('job', term)).toBe('renewed');
    expect(await bob.isKeptOut('job')).toBe('held');
    const history = await bob.client.history('job', call);
    expect(history.map((line) => line.kind === 'term' && line.term)).toEqual([term]);
  });
});

describe('an act', () => {
  it('that a minority missed is in force, and they learn of its end from whoever meets them', async () => {
    const ann = await fixture.actor('ann');
    const bob = await fixture.actor('bob');
    await ann.client.suspend('job', act, call);
    await fixture.unheardBy([3, 4], ann, () => ann.client.resume('job', act, call));
    // Two nodes still take the name for suspended, and one that is frozen besides leaves no majority without them.
    await expect
      .poll(async () => {
        await bob.release('job', await bob.take('job'));
        const suspended = await Promise.all(
          fixture.admins.map((admin) => admin.hlen(`{tenure:${fixture.namespace}}:suspended`)),
        );
        return suspended;
      })
      .toEqual([0, 0, 0, 0, 0]);
    fixture.freeze(0, 1);
    await bob.take('job');
  });

  it('that a majority knows of binds whoever asks another one', async () => {
    const ann = await fixture.actor('ann');
    const bob = await fixture.actor('bob');
    const term = await ann.take('job');
    await fixture.unheardBy([3, 4], ann, async () => {
      await ann.client.suspend('free', act, call);
      await ann.client.revoke('job', act, call);
    });
    await expect.poll(async () => (await bob.acquire('other')).outcome).toBe('granted');
    fixture.freeze(0, 1);
    expect(await bob.isKeptOut('free')).toBe('suspended');
    // Two of the three would extend it. What the frozen ones say is not known, so nobody may believe in it.
    await expect(ann.renew('job', term)).rejects.toThrow(/3 of 5 nodes answered/);
    fixture.thaw(0, 1);
    await expect.poll(() => ann.renew('job', term).catch(() => '')).toBe('revoked');
  });
});

describe('a document', () => {
  it('that only one node had accepted is everywhere before anybody is told of it', async () => {
    const ann = await fixture.actor('ann');
    const key = `{tenure:${fixture.namespace}}:doc:pins`;
    // As if whoever wrote it had died after the first of its requests.
    const ballot = `${'1'.padStart(16, '0')}.${'a'.repeat(16)}`;
    const fields = ['promised', ballot, 'ballot', ballot, 'version', '1', 'nonce', 'n'];
    await fixture.admins[0]?.hset(key, ...fields, 'text', 'half written');
    const told = await ann.client.readDocument('pins', call);
    fixture.freeze(0, 1);
    expect(await ann.client.readDocument('pins', call)).toEqual(told);
    expect(await ann.client.writeDocument('pins', 'next', told?.version ?? 0, call)).toEqual({
      outcome: 'written',
      version: (told?.version ?? 0) + 1,
    });
  });
});

describe('a majority that is lost', () => {
  it('grants nothing to anybody and renews nothing, until it is back', async () => {
    const ann = await fixture.actor('ann');
    const bob = await fixture.actor('bob');
    const term = await ann.take('job');
    await Promise.all([0, 1, 2].map((number) => fixture.nodes[number]?.kill()));
    const brief = { timeoutMs: 400 };
    await expect(bob.acquire('free', {}, brief)).rejects.toThrow(/of 5 nodes/);
    const renewal = { name: 'job', holder: ann.holder, term, ttlMs: longMs };
    await expect(ann.client.renew([renewal], brief)).rejects.toThrow(/2 of 5 nodes answered/);
    await expect(bob.client.read(['job'], brief)).rejects.toThrow(/2 of 5 nodes answered/);
    for (const number of [0, 1, 2]) await fixture.nodes[number]?.restart({ keepData: true });
    expect(await ann.renew('job', term)).toBe('renewed');
    expect(await bob.take('free')).toBeGreaterThan(term);
  });

  it('leaves no claim of who asked meanwhile at any node', async () => {
    const ann = await fixture.actor('ann');
    const bob = await fixture.actor('bob');
    fixture.freeze(0, 1, 2);
    await expect(ann.acquire('job', {}, { timeoutMs: 300 })).rejects.toThrow(/2 of 5/);
    fixture.thaw(0, 1, 2);
    expect(await promptly(() => bob.take('job'))).toBeGreaterThan(0);
    await bob.client.close();
    await expect
      .poll(async () => (await fixture.textsOf('lease:job')).join())
      .not.toContain(`|ann:`);
  });
});

describe('contenders that split the votes', () => {
  it('two and two of four are decided at once, and not after a ttl', async () => {
    const proxied = async (slow: readonly number[], id: string) => {
      const proxies = await Promise.all(fixture.nodes.map(({ port }) => FaultProxy.start(port)));
      const urls = proxies.map(({ port }) => `redis://127.0.0.1:${port}`);
      const actor = new QuorumActor(fixture.client({}, urls), Holder.create(id, realRuntime));
      await actor.client.read(['warm'], { timeoutMs: 30_000 });
      const delay = () => {
        for (const number of slow) proxies[number]?.up.set({ kind: 'delay', delayMs: 40 });
      };
      const stop = async () => {
        await actor.client.close();
        for (const proxy of proxies) await proxy.stop();
      };
      return { actor, delay, stop };
    };
    const ann = await proxied([2, 3], 'ann');
    const bob = await proxied([0, 1], 'bob');
    await fixture.nodes[4]?.kill();
    try {
      ann.delay();
      bob.delay();
      const startedAtMs = performance.now();
      const results = await Promise.all([
        ann.actor.acquire('job', { ttlMs: longMs }),
        bob.actor.acquire('job', { ttlMs: longMs }),
      ]);
      expect(performance.now() - startedAtMs).toBeLessThan(call.timeoutMs);
      expect(results.map(({ outcome }) => outcome).sort()).toEqual(['granted', 'held']);
    } finally {
      await fixture.nodes[4]?.restart({ keepData: true });
      await ann.stop();
      await bob.stop();
    }
  });

  it('many who want one name at once leave one holder, round after round, with rising terms', async () => {
    const actors = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((id) => fixture.actor(id)));
    let last = 0;
    for (let round = 0; round < 5; round++) {
      const results = await Promise.all(actors.map((actor) => actor.acquire('job')));
      const winners = actors.filter((_, index) => results[index]?.outcome === 'granted');
      expect(winners).toHaveLength(1);
      const term = results.flatMap((one) => (one.outcome === 'granted' ? [one.term] : []))[0] ?? 0;
      expect(term).toBeGreaterThan(last);
      last = term;
      expect(await winners[0]?.release('job', term)).toBe('ended');
    }
  });

  it('and die between claim and lease keep the name from others for a moment only', async () => {
    const bob = await fixture.actor('bob');
    const proxies = await Promise.all(fixture.nodes.map(({ port }) => FaultProxy.start(port)));
    const urls = proxies.map(({ port }) => `redis://127.0.0.1:${port}`);
    const half = new QuorumActor(fixture.client({}, urls), Holder.create('half', realRuntime));
    await half.client.read(['warm'], { timeoutMs: 30_000 });
    // Its claims arrive; it never hears of them.
    for (const proxy of proxies) proxy.down.swallow();
    const asking = half.acquire('job', { ttlMs: longMs }, { timeoutMs: 100 });
    await expect(asking).rejects.toThrow();
    await half.client.close();
    const startedAtMs = performance.now();
    await expect.poll(async () => (await bob.acquire('job')).outcome).toBe('granted');
    expect(performance.now() - startedAtMs).toBeLessThan(5_000);
    for (const proxy of proxies) await proxy.stop();
  });
});

describe('what is no quorum', () => {
  it('is refused: two addresses of one server', async () => {
    const urls = fixture.nodes.map(({ url }) => url);
    const [first = ''] = urls;
    const proxy = await FaultProxy.start(Number(new URL(first).port));
    const client = fixture.client({}, [...urls.slice(0, 4), `redis://127.0.0.1:${proxy.port}`]);
    await expect(client.read(['x'], call)).rejects.toThrow(/lead to one server/);
    await client.close();
    await proxy.stop();
  });

  it('is refused: other nodes than those of the quorum', async () => {
    await fixture.actor('ann');
    const three = fixture.nodes.slice(0, 3).map(({ url }) => url);
    const client = fixture.client({}, three);
    await expect(client.read(['x'], call)).rejects.toThrow(/quorum of 5/);
    const other = fixture.client({ largestTtlMs: 5_000 });
    await expect(other.read(['x'], call)).rejects.toThrow(/largestTtlMs/);
  });

  it('is refused: a replica, and a server that may evict leases', async () => {
    const [master] = fixture.nodes;
    const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(master?.port)] });
    const evicting = await startRedis({
      args: ['--maxmemory', '64mb', '--maxmemory-policy', 'allkeys-lru'],
    });
    try {
      for (const [server, words] of [
        [replica, /is a replica/],
        [evicting, /may evict/],
      ] as const) {
        const urls = [...fixture.nodes.slice(1, 3).map(({ url }) => url), server.url];
        const client = fixture.client({}, urls);
        await expect(client.read(['x'], call)).rejects.toThrow(words);
      }
    } finally {
      await replica.stop();
      await evicting.stop();
    }
  });

  it('is warned of: masters that keep no file', async () => {
    const forgetful = await startRedisQuorum(3, { appendonly: 'no' });
    const client = fixture.client({}, forgetful.url);
    const warned = new Set<string>();
    client.on('warning', ({ address, message }) => {
      if (message.includes('appendonly')) warned.add(address);
    });
    await client.read(['x'], call);
    expect(warned.size).toBe(3);
    await client.close();
    await forgetful.stop();
  });

  it('is set up once, however many begin at the same time', async () => {
    const clients = Array.from({ length: 6 }, () => fixture.client());
    const reads = await Promise.all(clients.map((client) => client.read(['x'], call)));
    expect(reads.flat()).toEqual(clients.map(() => undefined));
    expect(new Set(await fixture.textsOf('member')).size).toBe(1);
  });
});
