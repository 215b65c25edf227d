import type { JobStore } from '../schedule/index.js';
import { type OpenStore, openStoreOf, type StoreFamily } from './store-family.js';

const jobStores: StoreFamily<JobStore> = {
  keeps: 'jobs',
  sqlite: async (path, options) =>
    (await import('../schedule/sqlite/index.js')).sqliteJobs(path, options),
  postgres: async (url, options) =>
    (await import('../schedule/postgres/index.js')).postgresJobs(url, options),
  redis: async (url, options) =>
    (await import('../schedule/redis/index.js')).redisJobs(url, options),
};

/** The store of jobs that a URL names, as {@link openStoreOf} has it. @throws {OptionError} */
export function openJobStore(
  url: string,
  namespace: string,
  source?: string,
): Promise<OpenStore<JobStore>> {
  return openStoreOf(jobStores, url, namespace, source);
}
