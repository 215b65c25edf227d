export { type RedisOnce, type RedisOnceOptions, redisOnce } from './store.js';
