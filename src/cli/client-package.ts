import type { StoreKind } from './store-kinds.js';

/** Loads the package that a store of this kind is reached with, if it needs one. @throws {OptionError} that says what to install. */
export async function requirePackage(kind: StoreKind): Promise<void> {
  switch (kind) {
    case 'sqlite':
      await (await import('../drivers/sqlite/client.js')).loadSqlite();
      return;
    case 'postgres':
      await (await import('../drivers/postgres/pg-package.js')).importPg();
      return;
    case 'redis':
    case 'sentinel':
    case 'cluster':
    case 'quorum':
      await (await import('../drivers/redis/ioredis.js')).requireIoredis();
      return;
    default:
      return;
  }
}
