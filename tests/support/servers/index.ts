export {
  type EtcdCertificates,
  type EtcdCluster,
  type EtcdMember,
  type EtcdOptions,
  startEtcd,
} from './etcd.js';
export { type MariaDbOptions, type MariaDbServer, startMariaDb } from './mariadb.js';
export { type PgBouncer, type PgBouncerOptions, startPgBouncer } from './pgbouncer.js';
export type { PostgresOptions, PostgresServer } from './postgres.js';
export { type FreshDatabase, freshPostgresDatabase, startPostgres } from './postgres.js';
export { type RedisOptions, type RedisServer, startRedis } from './redis.js';
export { type ClusterOptions, type RedisCluster, startRedisCluster } from './redis-cluster.js';
export { type RedisQuorumServers, startRedisQuorum } from './redis-quorum.js';
export { cutReplicasOf, healReplicasOf } from './redis-replication.js';
export {
  type RedisSentinels,
  type SentinelOptions,
  startRedisSentinels,
} from './redis-sentinel.js';
export {
  startZooKeeper,
  startZooKeeperEnsemble,
  type ZooKeeperOptions,
  type ZooKeeperServer,
} from './zookeeper.js';
