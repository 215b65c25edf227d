/**
 * Leases and a fence on Redis, one server, behind sentinels or in a cluster: `import { redisCoordinator } from
 * 'tenure/redis'`. URLs need the package `ioredis`, 5 or later; clients of `redis` (node-redis), 5 or later, can be passed in
 * its place.
 */
export {
  type DuplicableRedisClient,
  type RedisCoordinator,
  type RedisCoordinatorEvents,
  type RedisCoordinatorOptions,
  type RedisFacts,
  redisCoordinator,
} from './coordinators/redis/index.js';
export {
  type RedisQuorumCoordinator,
  type RedisQuorumCoordinatorEvents,
  type RedisQuorumCoordinatorOptions,
  redisQuorumCoordinator,
} from './coordinators/redis-quorum/index.js';
export {
  type QueuedCommand,
  type RedisBatch,
  type RedisFence,
  type RedisFenceOptions,
  type RedisReply,
  type RedisWriteName,
  redisFence,
} from './fences/redis/index.js';
export * from './once/redis/index.js';
export {
  type RedisJobStore,
  type RedisJobStoreOptions,
  redisJobs,
} from './schedule/redis/index.js';
export {
  type RedisStreams,
  type RedisStreamsOptions,
  redisStreams,
} from './streams/redis/index.js';
