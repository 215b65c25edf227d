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
export const impossibleWithSentinels = { stepClock: clocks };

const restarts =
  'a node that was restarted takes no writes for two seconds, too long for each of these cases; what it keeps is what `redis` keeps';

export const impossibleInCluster = {
  stepClock: clocks,
  restartKeepingData: restarts,
  restartLosingData: restarts,
};

export function sentinelPlace(set: RedisSentinels): RedisPlace {
  const killed: RedisServer[] = [];
  return {
    ttlMs: 1_500,
    portsOf: () => set.servers.map(({ port }) => port),
    urlFor: () => set.url,
    options: {},
    admin: () =>
      new Redis({
        sentinels: set.sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
        name: set.masterName,
      }),
    async restart(_, options) {
      await (await set.master()).restart(options);
    },
    async loseTail(_, during) {
      await set.settled();
      const master = await set.master();
      await cutReplicasOf(master);
      await during();
      killed.push(master);
      await master.kill();
      await set.failover();
    },
    stepClock: () => {},
    async repair() {
      for (const server of killed.splice(0)) await server.restart({ keepData: true });
    },
  };
}

export function clusterPlace(cluster: RedisCluster): RedisPlace {
  const killed: RedisServer[] = [];
  return {
    ttlMs: 2_000,
    // The others are only asked who owns the slot.
    portsOf: (key) => cluster.familyOf(key).map(({ port }) => port),
    urlFor: () => cluster.url,
    options: {},
    admin: () => new Cluster(cluster.servers.map(({ port }) => ({ host: '127.0.0.1', port }))),
    restart: async (key, options) => (await cluster.ownerOf(key)).restart(options),
    async loseTail(key, during) {
      await cluster.settled();
      const owner = await cluster.ownerOf(key);
      await cutReplicasOf(owner);
      await during();
      killed.push(owner);
      await owner.kill();
      await cluster.failover(key);
    },
    stepClock: () => {},
    async repair() {
      if (killed.length === 0) return;
      for (const server of killed.splice(0)) await server.restart({ keepData: true });
      await cluster.settled();
    },
  };
}
