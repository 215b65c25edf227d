import type { Coordinator } from '../coordinators/index.js';
import { naming, placesIn } from './naming.js';
import { schemaOf, withSchema } from './postgres-url.js';
import type { SharedKind } from './store-kinds.js';

/** Kinds that keep leases only, and are reached over a network. */
export type LeaseKind = Exclude<SharedKind, 'sqlite' | 'redis' | 'sentinel'>;

export interface LeaseStore {
  open(): Coordinator;
  erase(): Promise<void>;
}

/**
 * Loads the store of this kind, with its driver.
 *
 * @throws {OptionError} naming what the URL was written in.
 */
export async function openLeaseStore(
  kind: LeaseKind,
  url: string,
  namespace: string,
  source: string,
): Promise<LeaseStore> {
  const store = await leaseStore(kind, url, namespace);
  // What is wrong with the rest of the URL is said before anything is begun.
  await (await naming(placesIn(source), store.open)).close();
  return store;
}

async function leaseStore(kind: LeaseKind, url: string, namespace: string): Promise<LeaseStore> {
  switch (kind) {
    case 'postgres':
      return await postgresStore(url, namespace);
    case 'etcd': {
      const { etcdCoordinator } = await import('../coordinators/etcd/index.js');
      const { eraseEtcdLeases } = await import('../coordinators/etcd/erase.js');
      return {
        open: () => etcdCoordinator(url, { namespace }),
        erase: () => eraseEtcdLeases(url, namespace),
      };
    }
    case 'zookeeper': {
      const { zookeeperCoordinator } = await import('../coordinators/zookeeper/index.js');
      const { eraseZooKeeperLeases } = await import('../coordinators/zookeeper/erase.js');
      return {
        open: () => zookeeperCoordinator(url, { namespace }),
        erase: () => eraseZooKeeperLeases(url, namespace),
      };
    }
    case 'quorum': {
      const { redisQuorumCoordinator } = await import('../coordinators/redis-quorum/index.js');
      const { eraseQuorumLeases } = await import('../coordinators/redis-quorum/erase.js');
      return {
        open: () => redisQuorumCoordinator(url, { namespace }),
        erase: () => eraseQuorumLeases(url, namespace),
      };
    }
    case 'cluster': {
      const { redisCoordinator } = await import('../coordinators/redis/index.js');
      const { eraseLeases } = await import('../coordinators/redis/erase.js');
      return {
        open: () => redisCoordinator(url, { namespace }),
        erase: () => eraseLeases(url, namespace),
      };
    }
  }
}

async function postgresStore(url: string, namespace: string): Promise<LeaseStore> {
  const { postgresCoordinator } = await import('../coordinators/postgres/index.js');
  const { erasePostgresLeases } = await import('../coordinators/postgres/erase.js');
  const schema = schemaOf(url);
  const options = schema === undefined ? { namespace } : { namespace, schema };
  const plainUrl = withSchema(url, undefined);
  return {
    open: () => postgresCoordinator(plainUrl, options),
    erase: () => erasePostgresLeases(plainUrl, options),
  };
}
