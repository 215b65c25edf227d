import { migratePostgres } from '../../src/postgres.js';
import {
  startEtcd,
  startPostgres,
  startRedis,
  startRedisCluster,
  startRedisQuorum,
  startRedisSentinels,
  startZooKeeper,
} from '../../tests/support/servers/index.js';
import { etcdReference } from './etcd.js';
import { postgresReference } from './postgres.js';
import { quorumReference, redisReference } from './redis.js';
import type { Reference } from './reference.js';
import { zookeeperReference } from './zookeeper.js';

/** A store to measure: its servers, each on loopback, and its plain client. */
export interface MeasuredStore {
  /** For the report. */
  readonly servers: string;
  /** Of leases that are to run out: as short as the store grants, or 2 s. */
  readonly shortTtlMs: number;
  start(): Promise<{ readonly url: string; stop(): Promise<void> }>;
  reference(url: string): Promise<Reference>;
}

export const measuredStores: Readonly<Record<string, MeasuredStore>> = {
  redis: {
    servers: 'one Redis, in memory',
    shortTtlMs: 2_000,
    start: () => startRedis(),
    reference: redisReference,
  },
  'redis-sentinel': {
    servers: 'a Redis with two replicas and three sentinels',
    shortTtlMs: 2_000,
    start: () => startRedisSentinels(),
    reference: redisReference,
  },
  'redis-cluster': {
    servers: 'a Redis Cluster of three masters with a replica each',
    shortTtlMs: 2_000,
    start: () => startRedisCluster(),
    reference: redisReference,
  },
  'redis-quorum': {
    servers: 'five Redis with appendfsync always',
    shortTtlMs: 2_000,
    start: () => startRedisQuorum(5),
    reference: quorumReference,
  },
  postgres: {
    servers: 'one PostgreSQL, fsync on',
    shortTtlMs: 2_000,
    async start() {
      const server = await startPostgres();
      await migratePostgres(server.url);
      return server;
    },
    reference: postgresReference,
  },
  etcd: {
    servers: 'one etcd',
    shortTtlMs: 2_000,
    start: () => startEtcd(),
    reference: etcdReference,
  },
  zookeeper: {
    servers: 'one ZooKeeper that does not wait for its disk',
    shortTtlMs: 4_000,
    start: () => startZooKeeper(),
    reference: zookeeperReference,
  },
};
