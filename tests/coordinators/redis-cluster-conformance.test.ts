import { afterAll, beforeAll } from 'vitest';
import { promisesOf } from '../../src/coordinators/redis/promises.js';
import { registerCoordinatorConformance } from '../../src/testing.js';
import { concurrentCases } from '../support/concurrent-cases.js';
import { type RedisCluster, startRedisCluster } from '../support/servers/index.js';
import { clusterPlace, impossibleInCluster } from './redis-failover-places.js';
import { type RedisPlace, redisTarget } from './redis-target.js';

let cluster: RedisCluster;
let place: RedisPlace;

beforeAll(async () => {
  // No failover but those that a case asks for.
  cluster = await startRedisCluster({ nodeTimeoutMs: 20_000, server: { appendonly: 'always' } });
  place = clusterPlace(cluster);
});
afterAll(() => cluster.stop());

registerCoordinatorConformance(
  redisTarget('redis-cluster', () => place, {
    promises: promisesOf('cluster', 0),
    impossible: impossibleInCluster,
  }),
  concurrentCases(),
);
