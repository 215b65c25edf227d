import { resolve } from 'node:path';
import { OptionError } from '../errors/index.js';
import type { JobStore } from '../schedule/index.js';
import { naming, placesIn } from './naming.js';
import { schemaOf, withSchema } from './postgres-url.js';
import { defaultSource } from './settings/setting.js';
import { type StoreKind, sharedForms } from './store-kinds.js';
import { addressOf, checkUrl, filePathOf, storeKindOf } from './store-url.js';

/** A store that keeps jobs, and where it is: for people, never with a password. */
export interface OpenJobStore {
  readonly address: string;
  /** The caller's to close. */
  readonly store: JobStore;
}

const { postgres, sqlite, redis, sentinel, cluster } = sharedForms;
const forms = `${postgres}, ${sqlite}, ${redis}, ${sentinel} or ${cluster}`;

/**
 * Loads the store of jobs that the URL asks for, and no other. Connects nothing yet.
 *
 * @param source what the URL was written in, named by errors.
 * @throws {OptionError} also for a store that keeps leases alone.
 */
export async function openJobStore(
  url: string,
  namespace: string,
  source = '--url',
): Promise<OpenJobStore> {
  checkUrl(url, source);
  const kind = storeKindOf(url, source);
  return await naming(placesIn(source), () => open(kind, url, namespace, source));
}

async function open(
  kind: StoreKind,
  url: string,
  namespace: string,
  source: string,
): Promise<OpenJobStore> {
  switch (kind) {
    case 'sqlite': {
      const { sqliteJobs } = await import('../schedule/sqlite/index.js');
      const path = resolve(filePathOf(url, source));
      // As for leases: the folder of the default alone is ours to make.
      const createDirectory = source === defaultSource;
      return { address: `sqlite:${path}`, store: sqliteJobs(path, { namespace, createDirectory }) };
    }
    case 'postgres': {
      const { postgresJobs } = await import('../schedule/postgres/index.js');
      const schema = schemaOf(url);
      const options = schema === undefined ? { namespace } : { namespace, schema };
      const store = postgresJobs(withSchema(url, undefined), options);
      return { address: addressOf(url), store };
    }
    case 'redis':
    case 'sentinel':
    case 'cluster': {
      const { redisJobs } = await import('../schedule/redis/index.js');
      return { address: addressOf(url), store: redisJobs(url, { namespace }) };
    }
    default:
      throw new OptionError(
        source,
        addressOf(url),
        'keeps leases, and no jobs',
        `for jobs, use ${forms}`,
      );
  }
}
