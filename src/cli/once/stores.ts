import { resolve } from 'node:path';
import { OptionError } from '../../errors/index.js';
import type { OnceStore } from '../../once/index.js';
import { naming, placesIn } from '../naming.js';
import { schemaOf, withSchema } from '../postgres-url.js';
import { defaultSource } from '../settings/setting.js';
import { type StoreKind, sharedForms } from '../store-kinds.js';
import { addressOf, checkUrl, filePathOf, storeKindOf } from '../store-url.js';

/** A store that keeps effects by key, and where it is: for people, never with a password. */
export interface OpenOnceStore {
  readonly address: string;
  /** The caller's to close. */
  readonly store: OnceStore;
}

const { postgres, sqlite, redis, sentinel, cluster } = sharedForms;
const forms = `${postgres}, ${sqlite}, ${redis}, ${sentinel} or ${cluster}`;

/**
 * Loads the store of effects that the URL asks for, and no other. Connects nothing yet.
 *
 * @param source what the URL was written in, named by errors.
 * @throws {OptionError} also for a store that keeps leases alone.
 */
export async function openOnceStore(
  url: string,
  namespace: string,
  source = '--url',
): Promise<OpenOnceStore> {
  checkUrl(url, source);
  const kind = storeKindOf(url, source);
  return await naming(placesIn(source), () => open(kind, url, namespace, source));
}

async function open(
  kind: StoreKind,
  url: string,
  namespace: string,
  source: string,
): Promise<OpenOnceStore> {
  switch (kind) {
    case 'sqlite': {
      const { sqliteOnce } = await import('../../once/sqlite/index.js');
      const path = resolve(filePathOf(url, source));
      // As for leases: the folder of the default alone is ours to make.
      const createDirectory = source === defaultSource;
      return { address: `sqlite:${path}`, store: sqliteOnce(path, { namespace, createDirectory }) };
    }
    case 'postgres': {
      const { postgresOnce } = await import('../../once/postgres/index.js');
      const schema = schemaOf(url);
      const options = schema === undefined ? { namespace } : { namespace, schema };
      return { address: addressOf(url), store: postgresOnce(withSchema(url, undefined), options) };
    }
    case 'redis':
    case 'sentinel':
    case 'cluster': {
      const { redisOnce } = await import('../../once/redis/index.js');
      return { address: addressOf(url), store: redisOnce(url, { namespace }) };
    }
    default:
      throw new OptionError(
        source,
        addressOf(url),
        'keeps leases, and no effects',
        `for effects, use ${forms}`,
      );
  }
}
