import type { OnceStore } from '../../once/index.js';
import { type OpenStore, openStoreOf, type StoreFamily } from '../store-family.js';

const onceStores: StoreFamily<OnceStore> = {
  keeps: 'effects',
  sqlite: async (path, options) =>
    (await import('../../once/sqlite/index.js')).sqliteOnce(path, options),
  postgres: async (url, options) =>
    (await import('../../once/postgres/index.js')).postgresOnce(url, options),
  redis: async (url, options) =>
    (await import('../../once/redis/index.js')).redisOnce(url, options),
};

/** The store of effects that a URL names, as {@link openStoreOf} has it. @throws {OptionError} */
export function openOnceStore(
  url: string,
  namespace: string,
  source?: string,
): Promise<OpenStore<OnceStore>> {
  return openStoreOf(onceStores, url, namespace, source);
}
