export { type RedisStreams, type RedisStreamsOptions, redisStreams } from './store.js';
