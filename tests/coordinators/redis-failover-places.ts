import { Cluster, Redis } from 'ioredis';
import {
  cutReplicasOf,
  type RedisCluster,
  type RedisSentinels,
  type RedisServer,
} from '../support/servers/index.js';
import type { RedisPlace } from './redis-target.js';

const clocks = 'the clock of one server is that of `redis`, and its cases run there';

/** What is the same on every topology, and shown on the single server. */
export const impossibleWithFailover = { stepClock: clocks };

export function sentinelPlace(set: RedisSentinels): RedisPlace {
  const killed: RedisServer[] = [];
  let isDisturbed = false;
  return {
    ttlMs: 1_200,
    ports: set.servers.map(({ port }) => port),
    urlFor: () => set.url,
    options: {},
    admin: () =>
      new Redis({
        sentinels: set.sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
        name: set.masterName,
      }),
    async restart(_, options) {
      isDisturbed = true;
      await (await set.master()).restart(options);
    },
    async loseTail(_, during) {
      isDisturbed = true;
      const master = await set.master();
      await cutReplicasOf(master);
      await during();
      killed.push(master);
      await master.kill();
      await set.failover();
    },
    stepClock: () => {},
    async repair() {
      if (!isDisturbed) return;
      isDisturbed = false;
      for (const server of killed.splice(0)) await server.restart({ keepData: true });
      await set.settled();
    },
  };
}

export function clusterPlace(cluster: RedisCluster): RedisPlace {
  const killed: RedisServer[] = [];
  let isDisturbed = false;
  return {
    ttlMs: 1_500,
    ports: cluster.servers.map(({ port }) => port),
    urlFor: () => cluster.url,
    options: {},
    admin: () => new Cluster(cluster.servers.map(({ port }) => ({ host: '127.0.0.1', port }))),
    async restart(key, options) {
      isDisturbed = true;
      await (await cluster.ownerOf(key)).restart(options);
    },
    async loseTail(key, during) {
      isDisturbed = true;
      const owner = await cluster.ownerOf(key);
      await cutReplicasOf(owner);
      await during();
      killed.push(owner);
      await owner.kill();
      await cluster.failover(key);
    },
    stepClock: () => {},
    async repair() {
      if (!isDisturbed) return;
      isDisturbed = false;
      for (const server of killed.splice(0)) await server.restart({ keepData: true });
      await cluster.settled();
    },
  };
}
