import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  OptionError,
  OutcomeUnknownError,
  RecordCorruptError,
  StaleTermError,
} from '../../../src/errors/index.js';
import { type EtcdFence, etcdCoordinator, etcdFence } from '../../../src/etcd.js';
import { freshName, tokenOf } from '../../../src/fences/conformance/scenario.js';
import type { EtcdBatch } from '../../../src/fences/etcd/index.js';
import type { FencingToken } from '../../../src/fences/index.js';
import { Leases } from '../../../src/index.js';
import { LeaseEndedError } from '../../../src/leases/index.js';
import { FaultProxy } from '../../support/proxy.js';
import { type EtcdCluster, startEtcd } from '../../support/servers/index.js';
import { untyped } from '../../support/untyped.js';
import { readKey } from './subject.js';

let cluster: EtcdCluster;
const open: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];

beforeAll(async () => {
  cluster = await startEtcd();
}, 60_000);

afterAll(async () => await cluster?.stop());

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await (one.close?.() ?? one.stop?.());
});

function opened<Resource extends (typeof open)[number]>(resource: Resource): Resource {
  open.push(resource);
  return resource;
}

const read = (key: string) => readKey(cluster.url, key);

describe('a batch of the etcd fence', { timeout: 30_000 }, () => {
  it('puts and deletes, the last write of a key alone', async () => {
    const name = freshName('batch');
    const fence = opened(etcdFence(cluster.url));
    const token = tokenOf(name, 1);
    await fence.transaction(token, async (batch) => {
      batch.put(`${name}/a`, 'first');
      batch.put(`${name}/a`, 'ünd "zweite"');
      batch.put(`${name}/b`, '');
      batch.delete(`${name}/never`);
    });
    expect([await read(`${name}/a`), await read(`${name}/b`)]).toEqual(['ünd "zweite"', '']);
    await fence.transaction(token, async (batch) => {
      batch.put(`${name}/b`, 'again');
      batch.delete(`${name}/b`);
      batch.delete(`${name}/a`);
    });
    expect([await read(`${name}/a`), await read(`${name}/b`)]).toEqual([undefined, undefined]);
  });

  it('holds as much as one transaction takes, and not one write more', async () => {
    const name = freshName('large');
    const fence = opened(etcdFence(cluster.url));
    const token = tokenOf(name, 1);
    const fill = (batch: EtcdBatch, count: number) => {
      for (let index = 0; index < count; index++) batch.put(`${name}/${index}`, 'x');
    };
    await fence.transaction(token, async (batch) => fill(batch, 127));
    expect(await read(`${name}/126`)).toBe('x');
    const over = fence.transaction(token, async (batch) => fill(batch, 128));
    await expect(over).rejects.toMatchObject({ option: 'batch', remedy: /up to 127/ });
    const withRecord = fence.transaction(token, async (batch) => {
      fill(batch, 127);
      await fence.recordOnce(batch, name, 'key', 1, 'm1');
    });
    await expect(withRecord).rejects.toBeInstanceOf(OptionError);
  });

  it('records as many effects as one transaction compares, beside the leases one less', async () => {
    const name = freshName('records');
    let round = 0;
    const records = async (fence: EtcdFence, token: FencingToken, count: number) => {
      const key = `${round++}`;
      await fence.transaction(token, async (batch) => {
        for (let seq = 0; seq < count; seq++) await fence.recordOnce(batch, name, key, seq, 'm');
      });
    };
    const plain = opened(etcdFence(cluster.url));
    await records(plain, tokenOf(name, 1), 127);
    const leases = opened(new Leases(opened(etcdCoordinator(cluster.url))));
    const lease = await leases.acquire(name, { ttlMs: 30_000 });
    const beside = opened(etcdFence(cluster.url, { leases: {} }));
    await records(beside, lease as FencingToken, 126);
    const over = records(beside, lease as FencingToken, 127);
    await expect(over).rejects.toMatchObject({ option: 'batch', remedy: /126 records/ });
  });

  it.each<[string, (batch: EtcdBatch) => unknown]>([
    ['no key', (batch) => batch.put('', 'x')],
    ['a key that is none', (batch) => batch.delete(untyped(7))],
    ['half a character', (batch) => batch.put('\ud800', 'x')],
    ['a value that is none', (batch) => batch.put('key', untyped(7))],
    ["the fence's own keys", (batch) => batch.delete(':tenure-fence/1/default/term/x')],
  ])('refuses %s, even if that is swallowed', async (_what, add) => {
    const name = freshName('refused');
    const fence = opened(etcdFence(cluster.url));
    const attempt = fence.transaction(tokenOf(name, 1), async (batch) => {
      batch.put(name, 'unguarded');
      expect(() => add(batch)).toThrow(OptionError);
    });
    await expect(attempt).rejects.toBeInstanceOf(OptionError);
    expect(await read(name)).toBeUndefined();
  });

  it('leaves alone what is none of its own under its name', async () => {
    const name = freshName('foreign');
    await cluster.etcdctl(
      'put',
      `:tenure-fence/1/default/term/${encodeURIComponent(name)}`,
      'mine',
    );
    const fence = opened(etcdFence(cluster.url));
    await expect(fence.claim(tokenOf(name, 1))).rejects.toBeInstanceOf(RecordCorruptError);
    await expect(fence.installedTerm(name)).rejects.toBeInstanceOf(RecordCorruptError);
  });
});

describe('the etcd fence behind a connection that fails', { timeout: 30_000 }, () => {
  async function behindProxy(timeoutMs: number) {
    const [member] = cluster.members;
    const proxy = opened(await FaultProxy.start(member?.port ?? 0));
    const fence = opened(etcdFence(`etcd://127.0.0.1:${proxy.port}`, { timeoutMs }));
    return { proxy, fence };
  }

  it('does not know the outcome when the reply is lost, and sends nothing twice', async () => {
    const name = freshName('lost');
    const { proxy, fence } = await behindProxy(5_000);
    const token = tokenOf(name, 1);
    await fence.claim(token);
    const attempt = fence.transaction(token, async (batch) => {
      batch.put(name, 'written');
      proxy.down.swallow();
      void proxy.down.caught().then(() => proxy.reset());
    });
    await expect(attempt).rejects.toBeInstanceOf(OutcomeUnknownError);
    proxy.heal();
    expect(await read(name)).toBe('written');
  });

  it('has a batch that arrives late refused, once a successor has claimed', async () => {
    const name = freshName('late');
    const { proxy, fence } = await behindProxy(500);
    const token = tokenOf(name, 1);
    await fence.claim(token);
    const attempt = fence.transaction(token, async (batch) => {
      batch.put(name, 'late');
      proxy.up.hold();
    });
    await expect(attempt).rejects.toBeInstanceOf(OutcomeUnknownError);
    const successor = opened(etcdFence(cluster.url));
    await successor.claim(tokenOf(name, 2));
    proxy.heal();
    await expect(fence.claim(token)).rejects.toBeInstanceOf(StaleTermError);
    expect(await read(name)).toBeUndefined();
  });
});

describe('the etcd fence beside the leases in one cluster', { timeout: 30_000 }, () => {
  async function acquired(name: string) {
    const coordinator = opened(etcdCoordinator(cluster.url, { namespace: 'fleet' }));
    const leases = opened(new Leases(coordinator));
    const fence = opened(etcdFence(cluster.url, { leases: { namespace: 'fleet' } }));
    const lease = await leases.acquire(name, { ttlMs: 5_000 });
    if (lease === undefined) throw new Error('the name is taken');
    await fence.claim(lease);
    const token = { name, term: lease.term, holder: lease.holder };
    const write = (during = async () => {}) =>
      fence.transaction(token, async (batch) => {
        batch.put(name, 'written');
        await during();
      });
    return { coordinator, leases, fence, lease, token, write };
  }

  async function refusedAs(attempt: Promise<unknown>, name: string, reason: string) {
    await expect(attempt).rejects.toBeInstanceOf(LeaseEndedError);
    await expect(attempt).rejects.toMatchObject({ leaseName: name, reason });
    expect(await read(name)).toBeUndefined();
  }

  it('lets the holder of a lease write', async () => {
    const { write } = await acquired('held');
    await write();
    expect(await read('held')).toBe('written');
  });

  it('refuses a lease that was released, also between the work and its execution', async () => {
    const { lease, write } = await acquired('released');
    await refusedAs(
      write(() => lease.release().then(() => {})),
      'released',
      'vanished',
    );
    await refusedAs(write(), 'released', 'vanished');
  });

  it('refuses a lease that somebody else has, before that one writes or claims', async () => {
    const { leases, lease, write } = await acquired('taken');
    await lease.release();
    const successor = await leases.acquire('taken', { ttlMs: 5_000 });
    expect(successor?.term).toBeGreaterThan(lease.term);
    await refusedAs(write(), 'taken', 'superseded');
  });

  it('refuses a lease that an operator has revoked', async () => {
    const { coordinator, write } = await acquired('revoked');
    await coordinator.revoke('revoked', { by: 'ops', reason: 'test' }, { timeoutMs: 30_000 });
    await refusedAs(write(), 'revoked', 'revoked');
  });

  it('ends the lease that it refuses, at once and for the same reason', async () => {
    const { coordinator, fence, lease } = await acquired('held-revoked');
    const { signal } = lease;
    await coordinator.revoke('held-revoked', { by: 'ops', reason: 'test' }, { timeoutMs: 30_000 });
    await expect(fence.claim(lease)).rejects.toBeInstanceOf(LeaseEndedError);
    expect([lease.state, lease.endReason]).toEqual(['lost', 'revoked']);
    expect(signal.reason).toMatchObject({ reason: 'revoked' });
  });

  it('takes a token that tells the digest of its holder alone, if the lease is its own', async () => {
    const { fence, token } = await acquired('distant');
    const withDigest = (digest: string) => ({ ...token, holder: untyped({ digest }) });
    await fence.claim(withDigest(token.holder.digest));
    await expect(fence.claim(withDigest('0'.repeat(32)))).rejects.toThrow();
  });
});

describe('the options of an etcd fence', () => {
  it.each([
    ['namespace', { namespace: '' }],
    ['prefix', { prefix: untyped(7) }],
    ['prefix', { prefix: 'x:' }],
    ['leases', { leases: untyped(true) }],
    ['leases.prefix', { leases: { prefix: untyped(7) } }],
    ['leases.prefix', { leases: { prefix: 'apps/' } }],
    ['timeoutMs', { timeoutMs: 0 }],
  ])('are checked: %s', (option, options) => {
    const make = (): EtcdFence => etcdFence('etcd://127.0.0.1', options);
    expect(make).toThrow(OptionError);
    expect(make).toThrow(expect.objectContaining({ option }));
  });
});
