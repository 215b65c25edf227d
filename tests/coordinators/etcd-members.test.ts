import { describe, expect, it, vi } from 'vitest';
import { isTransient } from '../../src/errors/index.js';
import { type EtcdCoordinator, etcdCoordinator } from '../../src/etcd.js';
import { type EtcdCluster, type EtcdMember, startEtcd } from '../support/servers/index.js';
import { until } from '../support/until.js';
import { Actor, call, pause } from './etcd-stage.js';

// Each has three members of its own, and those are started on few processors.
vi.setConfig({ testTimeout: 60_000, maxConcurrency: 3 });

/** Clusters of three members, each test with one of its own. */
describe.concurrent('etcd with three members', () => {
  it('a member that is killed costs nobody the lease, and the name goes on to be granted', async () =>
    withThree(async ({ cluster, actor }) => {
      const [ann, bob] = [actor('ann'), actor('bob')];
      const term = await ann.take('name', { ttlMs: 6_000 });
      const [first] = cluster.members as [EtcdMember];
      let lostCount = 0;
      ann.client.onConnectionLost(() => {
        lostCount += 1;
      });
      await first.kill();
      await until('a renewal elsewhere', () => renewed(ann, 'name', term, 6_000));
      expect(lostCount).toBeGreaterThan(0);
      expect((await bob.acquire('name')).outcome).toBe('held');
      await ann.release('name', term);
      expect(await bob.take('name')).toBeGreaterThan(term);
      await first.restart({ keepData: true });
    }));

  it('a member that hangs does not eat a call: the next one answers it in its time', async () =>
    withThree(async ({ cluster, client }) => {
      // The first in the URL is asked. With the leader frozen the others would have to elect one first.
      const leader = await cluster.leader();
      const asked = cluster.members.find((member) => member !== leader) as EtcdMember;
      const others = cluster.members.filter((member) => member !== asked);
      const hosts = [asked, ...others].map(({ port }) => `127.0.0.1:${port}`);
      const ann = new Actor(client(`etcd://${hosts.join(',')}`), 'ann');
      const term = await ann.take('name', { ttlMs: 60_000 });
      asked.freeze();
      try {
        const timeoutMs = 15_000;
        const startedMs = performance.now();
        expect(await ann.renew('name', term, 60_000, { timeoutMs })).toBe('renewed');
        expect(performance.now() - startedMs).toBeLessThan(timeoutMs);
        const againMs = performance.now();
        expect(await ann.renew('name', term, 60_000, { timeoutMs: 30_000 })).toBe('renewed');
        expect(performance.now() - againMs, 'it is asked last from then on').toBeLessThan(8_000);
      } finally {
        asked.thaw();
      }
    }));

  it('an acquisition at a member that hangs is made at another one, once', async () =>
    withThree(async ({ cluster, actor }) => {
      const [ann, bob] = [actor('ann'), actor('bob')];
      await ann.client.read(['warm'], call);
      const [asked] = cluster.members as [EtcdMember];
      asked.freeze();
      try {
        const result = await ann.acquire('name', { ttlMs: 60_000 }, { timeoutMs: 15_000 });
        expect(result.outcome).toBe('granted');
      } finally {
        asked.thaw();
      }
      const text = await cluster.etcdctl('get', '--prefix', '--keys-only', 'name/');
      expect(text.split('\n').filter((line) => line !== '')).toHaveLength(1);
      expect((await bob.held('name')).holder.equals(ann.holder)).toBe(true);
    }));

  it('a live lease that a leader ends after it was frozen is noticed at the next renewal', async () =>
    withThree(async ({ cluster, actor }) => {
      const [ann, bob] = [actor('ann'), actor('bob')];
      const ttlMs = 3_000;
      const term = await ann.take('name', { ttlMs, keepHistory: true });
      const leader = await cluster.leader();
      leader.freeze();
      try {
        const endMs = performance.now() + ttlMs + 1_500;
        while (performance.now() < endMs) {
          // The holder renews all the time, as its lease would.
          await ann.renew('name', term, ttlMs, { timeoutMs: 1_000 }).catch(transient);
          await pause(200);
        }
      } finally {
        leader.thaw();
      }
      // 3.4.23 may end the lease now, by what the leader knew before it was frozen. Or it may not: then nothing is lost.
      await pause(1_000);
      const [record] = await bob.client.read(['name'], call);
      const isHeld = record?.state === 'held' && record.holder.equals(ann.holder);
      const answer = await ann.renew('name', term, ttlMs);
      expect(answer).toBe(isHeld ? 'renewed' : 'vanished');
      if (!isHeld) expect(await bob.take('name')).toBeGreaterThan(term);
    }));

  it('with two of three members lost nobody is granted anything, and it goes on when they are back', async () =>
    withThree(async ({ cluster, actor, client }) => {
      const ann = actor('ann');
      const term = await ann.take('name', { ttlMs: 5_000 });
      const [kept, ...others] = cluster.members as [EtcdMember, EtcdMember, EtcdMember];
      const minority = new Actor(client(`etcd://${kept.host}:${kept.port}`), 'minority');
      await minority.client.read(['warm'], call);
      await Promise.all(others.map((member) => member.kill()));
      const short = { timeoutMs: 1_200 };
      const results = await Promise.allSettled([
        minority.acquire('free', {}, short),
        minority.client.read(['name'], short),
        ann.renew('name', term, 5_000, short),
        minority.client.suspend('name', { by: 'a test', reason: 'none' }, short),
      ]);
      for (const result of results) {
        expect(result.status).toBe('rejected');
        expect(isTransient((result as PromiseRejectedResult).reason)).toBe(true);
      }
      await Promise.all(others.map((member) => member.restart({ keepData: true })));
      await until('an answer', async () => {
        const answer = await minority.client.read(['warm'], call).catch(transient);
        return answer !== undefined;
      });
      // A new leader gives every store lease its whole time again, so the name may be held still.
      const bob = actor('bob');
      const next = await bob.wins('name');
      expect(next).toBeGreaterThan(term);
      expect(await ann.renew('name', term)).toBe('superseded');
    }));

  it('who waits at a member that is killed is called by another one', async () =>
    withThree(async ({ cluster, actor }) => {
      const [ann, bob] = [actor('ann'), actor('bob')];
      const term = await ann.take('name', { ttlMs: 20_000 });
      const calls: (string | undefined)[] = [];
      bob.client.onCalled(bob.holder, ({ name }) => calls.push(name));
      await bob.enroll('name', 20_000);
      await pause(300);
      await (cluster.members[0] as EtcdMember).kill();
      await until('word of the break', async () => calls.includes(undefined));
      await until('the release', () =>
        ann.release('name', term).then(
          () => true,
          () => false,
        ),
      );
      await until('a call', async () => calls.includes('name'));
      expect(await bob.take('name')).toBeGreaterThan(term);
    }));
});

interface Three {
  readonly cluster: EtcdCluster;
  readonly client: (url?: string) => EtcdCoordinator;
  readonly actor: (id: string) => Actor;
}

async function withThree(run: (three: Three) => Promise<void>): Promise<void> {
  const cluster = await startEtcd({ members: 3 });
  const clients: EtcdCoordinator[] = [];
  const client = (url = cluster.url) => {
    const made = etcdCoordinator(url);
    clients.push(made);
    return made;
  };
  try {
    await run({ cluster, client, actor: (id) => new Actor(client(), id) });
  } finally {
    for (const one of clients) await one.close();
    await cluster.stop();
  }
}

async function renewed(actor: Actor, name: string, term: number, ttlMs: number) {
  return (
    (await actor.renew(name, term, ttlMs, { timeoutMs: 1_500 }).catch(transient)) === 'renewed'
  );
}

function transient(error: unknown): undefined {
  if (!isTransient(error)) throw error;
}
