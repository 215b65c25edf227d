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
export { eraseKeys } from './erase.js';
export {
  defineScript,
  executedInPart,
  foreign,
  type RedisScript,
  type ScriptCall,
} from './script.js';
export { RedisSession, type RedisSessionOptions } from './session.js';
export {
  type ChannelListener,
  RedisSubscriber,
  type RedisSubscriberEvents,
  type RedisSubscriberOptions,
} from './subscriber.js';
