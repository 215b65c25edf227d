/**
 * `TENURE_STORES=memory,redis`: the stores whose tests a local run includes.
 *
 * A test file belongs to a store if its name, or that of a folder on the way from `tests/`, is the store's, or begins
 * with the store's and a hyphen: `tests/coordinators/redis-quorum-terms.test.ts` and `tests/drivers/redis/link.test.ts`.
 * Of several names that fit the longest counts. A file that belongs to none is always included; one that tries several
 * stores asks {@link selectedStores}.
 */
import { relative } from 'node:path';
import { fail } from './bootstrap.mjs';

export const knownStores = Object.freeze([
  'memory',
  'sqlite',
  'redis',
  'redis-sentinel',
  'redis-cluster',
  'redis-quorum',
  'postgres',
  'etcd',
  'zookeeper',
]);

/**
 * The stores to be tested; all unless `TENURE_STORES` names some. Where `CI` is set, one that is missing is an error: a
 * narrowed run must not be taken for the whole.
 *
 * @param {Readonly<Record<string, string | undefined>>} environment
 * @returns {readonly string[]}
 */
export function selectedStores(environment = process.env) {
  const words = (environment.TENURE_STORES ?? '').split(',').map((word) => word.trim());
  const named = words.filter((word) => word !== '');
  if (named.length === 0) return knownStores;
  const unknown = named.filter((name) => !knownStores.includes(name));
  if (unknown.length > 0) {
    const what = unknown.length === 1 ? 'no store' : 'no stores';
    throw new Error(
      `TENURE_STORES names ${unknown.join(', ')}, which is ${what} known here: use some of ${knownStores.join(',')}`,
    );
  }
  const missing = knownStores.filter((name) => !named.includes(name));
  if (environment.CI && missing.length > 0) {
    throw new Error(
      `TENURE_STORES leaves out ${missing.join(', ')}, and under CI every store is tested: unset TENURE_STORES`,
    );
  }
  return knownStores.filter((name) => named.includes(name));
}

/** As {@link selectedStores}; ends the program with a message instead of throwing. */
export function storesOrFail() {
  try {
    return selectedStores();
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

/**
 * @param {string} path relative to `tests/`
 * @returns {string | undefined} the store that the file belongs to
 */
export function storeOf(path) {
  const segments = path.split('/').map((segment) => segment.replace(/\..*$/, ''));
  const fitting = knownStores.filter((name) =>
    segments.some((segment) => segment === name || segment.startsWith(`${name}-`)),
  );
  return fitting.sort((a, b) => b.length - a.length)[0];
}

/**
 * @param {readonly string[]} files absolute
 * @param {string} folder `tests/`, absolute
 * @param {readonly string[]} selected
 * @returns {string[]} those of stores that are not selected
 */
export function leftOut(files, folder, selected) {
  return files.filter((file) => {
    const store = storeOf(relative(folder, file));
    return store !== undefined && !selected.includes(store);
  });
}
