import { store as etcd } from './etcd.js';
import { store as mysql } from './mysql.js';
import { store as postgres } from './postgres.js';
import { store as postgresWrite } from './postgres-write.js';
import { store as redis } from './redis.js';
import { store as sqlite } from './sqlite.js';
import type { FencedStore } from './store.js';

/** Every resource whose fence is tried on a writer that is really frozen. */
export const fencedStores: Readonly<Record<string, FencedStore>> = {
  postgres,
  'postgres by single statements': postgresWrite,
  sqlite,
  mysql,
  redis,
  etcd,
};
