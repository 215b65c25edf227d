import { importPg } from '../../drivers/postgres/pg-package.js';

/** Loads the package that PostgreSQL is reached with. @throws {OptionError} that says what to install. */
export async function requirePackage(): Promise<void> {
  await importPg();
}
