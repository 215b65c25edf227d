export type { RedisFacts } from './checks.js';
export {
  type DuplicableRedisClient,
  type RedisClient,
  type RedisSource,
  redisSource,
} from './client.js';
export {
  RedisConnection,
  type RedisConnectionEvents,
  type RedisConnectionOptions,
} from './connection.js';
export { defineScript, executedInPart, foreign, type RedisScript } from './script.js';
export {
  type ChannelListener,
  RedisSubscriber,
  type RedisSubscriberEvents,
  type RedisSubscriberOptions,
} from './subscriber.js';
