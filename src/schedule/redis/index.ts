export { type RedisJobStore, type RedisJobStoreOptions, redisJobs } from './store.js';
