import { join } from 'node:path';
import { postgresOnce } from '../../../src/once/postgres/index.js';
import { freshPostgresDatabase } from '../../support/servers/index.js';

export type StoreName = 'postgres' | 'redis' | 'sqlite';

export interface ProofServers {
  readonly postgresUrl: string;
  readonly redisUrl: string;
}

/** Where the keys of one run are. */
export interface ProofPlace {
  readonly store: StoreName;
  /** A URL, or a path. */
  readonly target: string;
  readonly namespace: string;
}

/** @param folder of the run; it is removed with all that is in it. */
export async function prepare(
  store: StoreName,
  servers: ProofServers,
  folder: string,
): Promise<{ readonly place: ProofPlace; remove(): Promise<void> }> {
  const namespace = `proof-${process.pid}-${Math.round(performance.now())}`;
  if (store === 'sqlite')
    return {
      place: { store, target: join(folder, 'keys.db'), namespace },
      remove: async () => {},
    };
  if (store === 'redis')
    return { place: { store, target: servers.redisUrl, namespace }, remove: async () => {} };
  const database = await freshPostgresDatabase(servers.postgresUrl);
  const keys = postgresOnce(database.url);
  await keys.migrate();
  await keys.close();
  return {
    place: { store, target: database.url, namespace },
    remove: () => database.drop(),
  };
}
