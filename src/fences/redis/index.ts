export type { QueuedCommand, RedisBatch } from './batch.js';
export type { RedisReply, RedisWriteName } from './commands.js';
export { type RedisFence, redisFence } from './fence.js';
export type { RedisFenceOptions } from './options.js';
