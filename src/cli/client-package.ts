import type { StoreKind } from './store-kinds.js';

/** Loads the package that a store of this kind is reached with, if it needs one. @throws {OptionError} that says what to install. */
export async function requirePackage(kind: StoreKind): Promise<void> {
  switch (kind) {
    case 'sqlite':
      await (await import('../coordinators/sqlite/package.js')).requirePackage();
      return;
    case 'postgres':
      await (await import('../coordinators/postgres/package.js')).requirePackage();
      return;
    case 'redis':
    case 'sentinel':
    case 'cluster':
    case 'quorum':
      await (await import('../coordinators/redis/package.js')).requirePackage();
      return;
    default:
      return;
  }
}
