export type { RedisFacts } from './checks.js';
export type { DuplicableRedisClient, Topology } from './client.js';
export {
  RedisConnection,
  type RedisConnectionEvents,
} from './connection.js';
export { eraseKeys } from './erase.js';
export type { Confirmation, Written } from './replicas.js';
export {
  defineScript,
  defineThinScript,
  executedInPart,
  foreign,
  type RedisScript,
  type ScriptCall,
} from './script.js';
export type { Answered, RunTaker } from './script-run.js';
export { RedisSession } from './session.js';
export { slotOf } from './slot.js';
export { type RedisSourceOptions, redisSource } from './source.js';
export { RedisSubscriber } from './subscriber.js';
export { keyPrefixOf } from './users-client.js';
