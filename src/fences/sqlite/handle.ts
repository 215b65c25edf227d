import { OptionError } from '../../errors/index.js';

/** A value that can be bound; `bigint` for whole numbers beyond 2^51, which some libraries bind as a REAL else. */
export type SqliteBindable = string | number | bigint | Uint8Array | null;

/**
 * The slice of an open database that the fence calls. `node:sqlite`, `better-sqlite3` and `libsql` have it.
 *
 * All calls are synchronous. One connection has one transaction at a time, whoever began it.
 */
export interface SqliteHandle {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteHandleStatement;
}

export interface SqliteHandleStatement {
  run(...values: never[]): unknown;
  get(...values: never[]): unknown;
  all(...values: never[]): unknown[];
}

const remedy = 'pass a database that node:sqlite, better-sqlite3 or libsql has opened, or a path';

/** @throws {OptionError} */
export function requireHandle<Handle extends SqliteHandle>(option: string, handle: Handle): Handle {
  const { exec, prepare } = Object(handle);
  if (typeof exec === 'function' && typeof prepare === 'function') return handle;
  throw new OptionError(option, handle, 'is no open SQLite database', remedy);
}

/** Whether a transaction is open on the connection. */
export function isInTransaction(handle: SqliteHandle): boolean {
  const { inTransaction, isTransaction } = handle as unknown as Record<string, unknown>;
  if (typeof inTransaction === 'boolean') return inTransaction;
  if (typeof isTransaction === 'boolean') return isTransaction;
  // An older node:sqlite does not say. SQLite refuses a transaction inside another, and changes nothing by it.
  try {
    handle.exec('BEGIN');
  } catch {
    return true;
  }
  handle.exec('ROLLBACK');
  return false;
}

/** The value of a setting of the connection. */
export function pragma(handle: SqliteHandle, name: string): unknown {
  return Object.values(Object(handle.prepare(`PRAGMA ${name}`).get()))[0];
}

/** Primary result codes that decide something here, by the names that `better-sqlite3` tells them by. */
const codes: Readonly<Record<string, number>> = {
  SQLITE_ERROR: 1,
  SQLITE_PERM: 3,
  SQLITE_BUSY: 5,
  SQLITE_LOCKED: 6,
  SQLITE_NOMEM: 7,
  SQLITE_READONLY: 8,
  SQLITE_IOERR: 10,
  SQLITE_CORRUPT: 11,
  SQLITE_FULL: 13,
  SQLITE_CANTOPEN: 14,
  SQLITE_PROTOCOL: 15,
  SQLITE_CONSTRAINT: 19,
  SQLITE_NOTADB: 26,
};

/** SQLite's result code of something that any of the libraries has thrown; `undefined` if it is none of SQLite's. */
export function resultCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const { errcode, rawCode, code } = error as unknown as Record<string, unknown>;
  for (const number of [errcode, rawCode]) if (typeof number === 'number') return number;
  const primary = typeof code === 'string' ? /^SQLITE_[A-Z]+/.exec(code)?.[0] : undefined;
  return primary === undefined ? undefined : (codes[primary] ?? 1);
}
