import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, inject, it } from 'vitest';
import { redisJobs } from '../../src/redis.js';
import { registerJobStoreConformance } from '../../src/testing.js';
import { type RedisCluster, startRedisCluster } from '../support/servers/redis-cluster.js';

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster();
});
afterAll(async () => {
  await cluster.stop();
});

const servers = [
  { name: 'redis', url: () => inject('redisUrl') },
  { name: 'redis cluster', url: () => cluster.url },
];

for (const { name, url } of servers)
  registerJobStoreConformance(
    {
      name,
      impossible: {},
      create: async () => {
        const namespace = `jobs-${randomBytes(6).toString('hex')}`;
        const store = redisJobs(url(), { namespace });
        const other = redisJobs(url(), { namespace });
        return {
          ...{ store, other, controls: {} },
          close: async () => {
            await Promise.all([store.close(), other.close()]);
          },
        };
      },
    },
    { describe: describe.concurrent, it },
  );
