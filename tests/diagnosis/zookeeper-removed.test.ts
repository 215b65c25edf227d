import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ZooKeeperPaths } from '../../src/coordinators/zookeeper/paths.js';
import type { Cause } from '../../src/index.js';
import { zookeeperCoordinator } from '../../src/zookeeper.js';
import { asOperator } from '../coordinators/zookeeper-target.js';
import { startZooKeeper, type ZooKeeperServer } from '../support/servers/index.js';
import { diagnosedWhen, freshNamespace, isWitnessed, leader, name } from './leader.js';

const timeout = 60_000;
const ttlMs = 6_000;

describe('on a ZooKeeper that is well, the cause that is named first', () => {
  let server: ZooKeeperServer;
  beforeAll(async () => {
    server = await startZooKeeper({ smallestSessionMs: ttlMs });
  }, timeout);
  afterAll(() => server?.stop());

  it('is whoever removed its node', { timeout }, async () => {
    const namespace = freshNamespace();
    const options = { namespace, smallestTtlMs: ttlMs };
    const paths = new ZooKeeperPaths('', namespace);
    const led = await leader(zookeeperCoordinator(server.url, options), { ttlMs });
    const operator = zookeeperCoordinator(server.url, options);
    try {
      await led.renewed(1);
      const lost = led.lost();
      await asOperator(server, async (connection) => {
        for (const child of await connection.getChildren(paths.name(name)))
          if (paths.isLease(child)) await connection.delete(`${paths.name(name)}/${child}`);
      });
      expect((await lost).reason).toBe('vanished');
      const [first] = (await diagnosedWhen(operator, isWitnessed)).findings;
      expect(first?.cause).toBe<Cause>('record-removed');
    } finally {
      await led.close();
      await operator.close();
    }
  });
});
