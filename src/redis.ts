/**
 * Leases on a Redis server: `import { redisCoordinator } from 'tenure/redis'`. Needs the package `ioredis`, 5 or later.
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
  type RedisStreams,
  type RedisStreamsOptions,
  redisStreams,
} from './streams/redis/index.js';
