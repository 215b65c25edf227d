import Libsql from 'libsql';

/** What the tests call of an open database, whichever library has opened it. */
export interface TestDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): TestStatement;
  close(): unknown;
}

interface TestStatement {
  run(...values: unknown[]): unknown;
  get(...values: unknown[]): unknown;
  all(...values: unknown[]): unknown[];
}

/**
 * Opens a database as a user would who heeds that one process opens a file with one library: the one that tenure takes on
 * this Node.
 */
export function openDatabase(path: string): TestDatabase {
  const builtin: unknown = process.getBuiltinModule('node:sqlite');
  if (builtin === undefined) return new Libsql(path) as TestDatabase;
  const { DatabaseSync } = builtin as { DatabaseSync: new (path: string) => TestDatabase };
  return new DatabaseSync(path);
}
