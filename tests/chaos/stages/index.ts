import type { Stage, StoreName } from '../stage.js';
import { etcdStage } from './etcd.js';
import { postgresStage } from './postgres.js';
import { redisStage } from './redis.js';
import { redisClusterStage } from './redis-cluster.js';
import { redisQuorumStage } from './redis-quorum.js';
import { redisSentinelStage } from './redis-sentinel.js';
import { sqliteStage } from './sqlite.js';
import { zookeeperStage } from './zookeeper.js';

/** Starts the servers of a store. @param namespace of the run */
export const openStage: Readonly<Record<StoreName, (namespace: string) => Promise<Stage>>> = {
  sqlite: sqliteStage,
  redis: redisStage,
  'redis-sentinel': redisSentinelStage,
  'redis-cluster': redisClusterStage,
  'redis-quorum': redisQuorumStage,
  etcd: etcdStage,
  postgres: postgresStage,
  zookeeper: zookeeperStage,
};
