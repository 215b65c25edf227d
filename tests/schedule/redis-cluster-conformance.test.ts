import { afterAll, beforeAll, describe, it } from 'vitest';
import { registerJobStoreConformance } from '../../src/testing.js';
import { type RedisCluster, startRedisCluster } from '../support/servers/redis-cluster.js';
import { redisTarget } from './redis-target.js';

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster();
});
afterAll(async () => {
  await cluster.stop();
});

const target = redisTarget(
  'redis cluster',
  () => cluster.url,
  async (key) => (await cluster.ownerOf(key)).url,
);
registerJobStoreConformance(target, { describe: describe.concurrent, it });
