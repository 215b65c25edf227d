import { resolve } from 'node:path';
import { OptionError } from '../errors/index.js';
import { naming, placesIn } from './naming.js';
import { schemaOf, withSchema } from './postgres-url.js';
import { defaultSource } from './settings/setting.js';
import { type StoreKind, sharedForms } from './store-kinds.js';
import { addressOf, checkUrl, filePathOf, storeKindOf } from './store-url.js';

interface Namespaced {
  readonly namespace: string;
}

/** Stores that keep something else than leases: how that of each server is loaded with its driver. Connects nothing yet. */
export interface StoreFamily<Store> {
  /** For messages, in the plural. */
  readonly keeps: string;
  sqlite(path: string, options: Namespaced & { readonly createDirectory: boolean }): Promise<Store>;
  postgres(url: string, options: Namespaced & { readonly schema?: string }): Promise<Store>;
  /** With sentinels and as a cluster, too. */
  redis(url: string, options: Namespaced): Promise<Store>;
}

/** A store, and where it is: for people, never with a password. */
export interface OpenStore<Store> {
  readonly address: string;
  /** The caller's to close. */
  readonly store: Store;
}

const { postgres, sqlite, redis, sentinel, cluster } = sharedForms;
const forms = `${postgres}, ${sqlite}, ${redis}, ${sentinel} or ${cluster}`;

/**
 * Loads the store of a family that the URL asks for, and no other. Connects nothing yet.
 *
 * @param source what the URL was written in, named by errors.
 * @throws {OptionError} also for a store that keeps leases alone.
 */
export async function openStoreOf<Store>(
  family: StoreFamily<Store>,
  url: string,
  namespace: string,
  source = '--url',
): Promise<OpenStore<Store>> {
  checkUrl(url, source);
  const kind = storeKindOf(url, source);
  return await naming(placesIn(source), () => open(family, kind, url, namespace, source));
}

async function open<Store>(
  family: StoreFamily<Store>,
  kind: StoreKind,
  url: string,
  namespace: string,
  source: string,
): Promise<OpenStore<Store>> {
  switch (kind) {
    case 'sqlite': {
      const path = resolve(filePathOf(url, source));
      // As for leases: the folder of the default alone is ours to make.
      const createDirectory = source === defaultSource;
      return {
        address: `sqlite:${path}`,
        store: await family.sqlite(path, { namespace, createDirectory }),
      };
    }
    case 'postgres': {
      const schema = schemaOf(url);
      const options = schema === undefined ? { namespace } : { namespace, schema };
      const store = await family.postgres(withSchema(url, undefined), options);
      return { address: addressOf(url), store };
    }
    case 'redis':
    case 'sentinel':
    case 'cluster':
      return { address: addressOf(url), store: await family.redis(url, { namespace }) };
    default:
      throw new OptionError(
        source,
        addressOf(url),
        `keeps leases, and no ${family.keeps}`,
        `for ${family.keeps}, use ${forms}`,
      );
  }
}
