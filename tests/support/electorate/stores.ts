import { inject } from 'vitest';
import { selectedStores } from '../../../scripts/stores.mjs';
import { migratePostgres } from '../../../src/postgres.js';
import {
  freshPostgresDatabase,
  startEtcd,
  startRedisCluster,
  startRedisQuorum,
  startRedisSentinels,
  startZooKeeper,
} from '../servers/index.js';

/** A store of the test's own, empty. */
export interface RunningStore {
  readonly url: string;
  stop(): Promise<void>;
}

export interface StoreUnderTest {
  /** As `TENURE_STORES` names it. */
  readonly store: string;
  /** What a lease on it is short by: a multiple of whole seconds where the store counts those. */
  readonly ttlMs: number;
  /** How long after its ttl the store may notice an expiry. */
  readonly noticedWithinMs: number;
  start(): Promise<RunningStore>;
}

/** Stores that need servers, beside the Redis that all tests share. Only those that are to be tested. */
export const serverStores: readonly StoreUnderTest[] = (
  [
    {
      store: 'postgres',
      ttlMs: 3_000,
      noticedWithinMs: 500,
      async start() {
        const { url, drop } = await freshPostgresDatabase(inject('postgresUrl'));
        await migratePostgres(url);
        return { url, stop: drop };
      },
    },
    {
      store: 'etcd',
      ttlMs: 3_000,
      noticedWithinMs: 1_500,
      start: () => startEtcd(),
    },
    {
      store: 'zookeeper',
      // The smallest time-out of a session with the usual tick of 2 s.
      ttlMs: 4_000,
      noticedWithinMs: 1_000,
      start: () => startZooKeeper(),
    },
    {
      store: 'redis-sentinel',
      ttlMs: 3_000,
      noticedWithinMs: 500,
      start: () => startRedisSentinels(),
    },
    {
      store: 'redis-cluster',
      ttlMs: 3_000,
      noticedWithinMs: 500,
      start: () => startRedisCluster(),
    },
    { store: 'redis-quorum', ttlMs: 3_000, noticedWithinMs: 500, start: () => startRedisQuorum(3) },
  ] satisfies readonly StoreUnderTest[]
).filter(({ store }) => selectedStores().includes(store));
