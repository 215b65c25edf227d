import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { Coordinator } from '../../src/coordinators/index.js';
import { StoreRefusedError } from '../../src/errors/index.js';
import { etcdCoordinator } from '../../src/etcd.js';
import { FaultProxy } from '../support/proxy.js';
import { type EtcdCluster, startEtcd } from '../support/servers/index.js';
import { until } from '../support/until.js';
import { Actor, call } from './etcd-stage.js';

vi.setConfig({ testTimeout: 40_000 });

async function withOne(
  run: (cluster: EtcdCluster) => Promise<void>,
  args: readonly string[] = [],
): Promise<void> {
  const cluster = await startEtcd({ args });
  try {
    await run(cluster);
  } finally {
    await cluster.stop();
  }
}

/** Makes so many revisions. */
async function write(client: Coordinator, count: number): Promise<void> {
  for (let from = 0; from < count; from += 50) {
    const names = Array.from({ length: 50 }, (_, index) => `document-${from + index}`);
    await Promise.all(names.map((name) => client.writeDocument(name, '{}', 0, call)));
  }
}

/** What becomes of terms, and of those who wait, when an operator does something to the cluster. */
describe.concurrent('etcd and its operators', () => {
  it('the term is the revision that created the key of the leader', async () =>
    withOne(async (cluster) => {
      const ann = new Actor(etcdCoordinator(cluster.url), 'ann');
      await cluster.etcdctl('put', 'something', 'else');
      const term = await ann.take('name', { ttlMs: 20_000 });
      await ann.renew('name', term, 20_000);
      await ann.client.renew(
        [{ name: 'name', holder: ann.holder, term, ttlMs: 20_000, metadata: '1' }],
        call,
      );
      const { kvs } = JSON.parse(await cluster.etcdctl('get', '--prefix', 'name/', '-w', 'json'));
      expect(kvs.map((kv: { create_revision: number }) => kv.create_revision)).toEqual([term]);
      await ann.client.close();
    }));

  it('a restored snapshot takes terms back; this is told, and an acquisition above heals it for good', async () =>
    withOne(async (cluster) => {
      const client = etcdCoordinator(cluster.url);
      const warnings: string[] = [];
      client.on('warning', ({ message }) => warnings.push(message));
      const ann = new Actor(client, 'ann');
      const wakes: (string | undefined)[] = [];
      client.watch('', (name) => wakes.push(name));
      await ann.release('name', await ann.take('name'));
      const snapshot = join(cluster.dir, 'snapshot.db');
      await cluster.etcdctl('snapshot', 'save', snapshot);
      await write(client, 500);
      const seen = await ann.take('name');
      await cluster.restore(snapshot);
      await until('an answer', () =>
        client.read(['name'], call).then(
          () => true,
          () => false,
        ),
      );
      expect(await ann.renew('name', seen)).toBe('vanished');
      const low = await ann.take('name');
      expect(low, 'a snapshot takes the revisions back').toBeLessThan(seen);
      await until('a warning', async () => warnings.some((text) => text.includes('went back')));
      await ann.release('name', low);
      const healed = await ann.take('name', { above: seen });
      expect(healed).toBe(seen + 1);
      await ann.release('name', healed);
      // What was asked to be watched lay in the future of the snapshot.
      wakes.length = 0;
      await until('a wake', async () => {
        await ann.release('name', await ann.take('name'));
        return wakes.includes('name');
      });
      // Another process, later, in another name of the namespace.
      const bob = new Actor(etcdCoordinator(cluster.url), 'bob');
      expect(await bob.take('name')).toBeGreaterThan(healed);
      expect(await bob.take('other')).toBeGreaterThan(healed);
      await bob.client.close();
      await client.close();
    }));

  it('a full database refuses new leases by name, and lets those that are there go on and end', async () =>
    withOne(
      async (cluster) => {
        const client = etcdCoordinator(cluster.url);
        const ann = new Actor(client, 'ann');
        const term = await ann.take('name', { ttlMs: 20_000 });
        const filler = 'x'.repeat(100_000);
        for (let index = 0; index < 40; index++) {
          const isFull = await cluster.etcdctl('put', `filler-${index}`, filler).then(
            () => false,
            () => true,
          );
          if (isFull) break;
        }
        const refusal = await ann.acquire('another').catch((error) => error);
        expect(refusal).toBeInstanceOf(StoreRefusedError);
        expect(refusal.storeCode).toBe('NOSPACE');
        expect(refusal.message).toContain('alarm disarm');
        expect(await ann.renew('name', term, 20_000), 'who leads goes on').toBe('renewed');
        expect((await ann.held('name')).term).toBe(term);
        await ann.release('name', term);
        expect(await client.read(['name'], call)).toEqual([undefined]);
        await client.close();
      },
      ['--quota-backend-bytes', String(2 * 1024 * 1024)],
    ));

  it('a watch whose past was compacted begins anew, and says that anything may have happened', async () =>
    withOne(async (cluster) => {
      const proxy = await FaultProxy.start(cluster.members[0]?.port ?? 0);
      const ann = new Actor(etcdCoordinator(cluster.url), 'ann');
      const bob = new Actor(etcdCoordinator(`etcd://127.0.0.1:${proxy.port}`), 'bob');
      const wakes: (string | undefined)[] = [];
      bob.client.watch('team', (name) => wakes.push(name));
      // Nobody says when the watch has begun: it hears of what happens from then on.
      let term = 0;
      await until('a wake', async () => {
        if (term > 0) await ann.release('team/name', term);
        term = await ann.take('team/name', { ttlMs: 20_000, keepHistory: true });
        return wakes.includes('team/name');
      });
      expect(wakes).not.toContain(undefined);
      // While it is away, what it would ask for next is compacted.
      proxy.refuse(true);
      proxy.reset();
      for (let round = 0; round < 5; round++) await cluster.etcdctl('put', 'other', `${round}`);
      const status = JSON.parse(await cluster.etcdctl('endpoint', 'status', '-w', 'json'));
      await cluster.etcdctl('compact', String(status[0].Status.header.revision));
      proxy.heal();
      await until('word of it', async () => wakes.includes(undefined));
      await ann.release('team/name', term);
      wakes.length = 0;
      await until('a wake of its own', async () => {
        await ann.release('team/name', await ann.take('team/name'));
        return wakes.includes('team/name');
      });
      await ann.client.close();
      await bob.client.close();
      await proxy.stop();
    }));

  it('a version with known defects is named once, with those that mend them', async () =>
    withOne(async (cluster) => {
      const client = etcdCoordinator(cluster.url);
      const warnings: string[] = [];
      client.on('warning', ({ message }) => warnings.push(message));
      await client.read(['name'], call);
      await client.read(['name'], call);
      const version = await cluster.etcdctl('version');
      const isOld = /etcdctl version: 3\.4\.(?:[0-9]|[1-3][0-9]|4[01])\b/.test(version);
      expect(warnings).toHaveLength(isOld ? 1 : 0);
      if (isOld) expect(warnings[0]).toMatch(/3\.4\.42, 3\.5\.28 and 3\.6\.9/);
      await client.close();
    }));
});
