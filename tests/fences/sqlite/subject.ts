import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FenceSubject } from '../../../src/fences/conformance/index.js';
import {
  type SqliteGuarded,
  type SqliteHandle,
  sqliteFence,
} from '../../../src/fences/sqlite/index.js';
import { openDatabase, type TestDatabase } from '../../support/sqlite-database.js';

export { openDatabase };

/** A file with the fence's tables, and a table `data` for the tests. */
export interface PreparedFile {
  readonly path: string;
  remove(): void;
}

export async function preparedFile(): Promise<PreparedFile> {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-fence-'));
  const path = join(folder, 'data.db');
  const fence = sqliteFence(path);
  await fence.migrate();
  await fence.close();
  const database = openDatabase(path);
  database.exec('CREATE TABLE data (key TEXT PRIMARY KEY, value TEXT NOT NULL)');
  database.close();
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

const upsert =
  'INSERT INTO data VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value';

export function put(transaction: SqliteGuarded, key: string, value: string): void {
  if ('run' in transaction) transaction.run(upsert, key, value);
  else (transaction as TestDatabase).prepare(upsert).run(key, value);
}

export function readData(database: SqliteHandle, key: string): string | undefined {
  const statement = database.prepare('SELECT value FROM data WHERE key = ?');
  const row = statement.get(...([key] as never[]));
  return (row as { readonly value: string } | undefined)?.value;
}

/** A conformance subject: one fence by the file's path, one on a database of the user; both meet a third connection. */
export function sqliteSubject(path: string): FenceSubject<SqliteGuarded> {
  const [guarded, writer, reader] = [1, 2, 3].map(() => openDatabase(path)) as [
    TestDatabase,
    TestDatabase,
    TestDatabase,
  ];
  const fence = sqliteFence(path);
  const other = sqliteFence(guarded);
  return {
    fence,
    other,
    async transaction(work) {
      writer.exec('BEGIN IMMEDIATE');
      try {
        const result = await work(writer);
        writer.exec('COMMIT');
        return result;
      } catch (error) {
        writer.exec('ROLLBACK');
        throw error;
      }
    },
    write: async (transaction, key, value) => put(transaction, key, value),
    read: async (key) => readData(reader, key),
    async close() {
      await Promise.all([fence.close(), other.close()]);
      for (const database of [guarded, writer, reader]) database.close();
    },
  };
}
