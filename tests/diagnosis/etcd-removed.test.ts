import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { etcdCoordinator } from '../../src/etcd.js';
import type { Cause } from '../../src/index.js';
import { startEtcd } from '../support/servers/index.js';
import { diagnosedWhen, freshNamespace, isWitnessed, leader, name } from './leader.js';

const timeout = 60_000;

describe('on three members of etcd that are well, the cause that is named first', () => {
  let cluster: Awaited<ReturnType<typeof startEtcd>>;
  beforeAll(async () => {
    cluster = await startEtcd({ members: 3 });
  }, timeout);
  afterAll(() => cluster?.stop());

  /** The key by which it is led; its last part is the store lease. */
  async function keyOf(namespace: string): Promise<string> {
    const keys = await cluster.etcdctl('get', `${namespace}:${name}/`, '--prefix', '--keys-only');
    const [key] = keys.trim().split('\n');
    if (!key) throw new Error('nobody leads');
    return key;
  }
  const leaseOf = (key: string) => key.slice(key.lastIndexOf('/') + 1).split('-')[0] ?? '';

  it.each([
    ['its key', (key: string) => cluster.etcdctl('del', key)],
    ['its store lease', (key: string) => cluster.etcdctl('lease', 'revoke', leaseOf(key))],
  ])('is whoever removed %s', { timeout }, async (_what, remove) => {
    const namespace = freshNamespace();
    const led = await leader(etcdCoordinator(cluster.url, { namespace }), { ttlMs: 6_000 });
    const operator = etcdCoordinator(cluster.url, { namespace });
    try {
      await led.renewed(1);
      const lost = led.lost();
      await remove(await keyOf(namespace));
      expect((await lost).reason).toBe('vanished');
      const [first] = (await diagnosedWhen(operator, isWitnessed)).findings;
      expect(first?.cause).toBe<Cause>('record-removed');
      expect(first?.evidence[0]).toMatch(/was gone .* after a renewal, and no renewal had failed/);
    } finally {
      await led.close();
      await operator.close();
    }
  });
});
