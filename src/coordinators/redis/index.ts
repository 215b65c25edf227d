export type { DuplicableRedisClient, RedisFacts } from '../../drivers/redis/index.js';
export {
  type RedisCoordinator,
  type RedisCoordinatorEvents,
  type RedisCoordinatorOptions,
  redisCoordinator,
} from './coordinator.js';
