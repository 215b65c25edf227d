import { loadSqlite } from '../../drivers/sqlite/client.js';

/** Loads what reads the file: Node's own SQLite, or a package. @throws {OptionError} that says what to install. */
export async function requirePackage(): Promise<void> {
  await loadSqlite();
}
