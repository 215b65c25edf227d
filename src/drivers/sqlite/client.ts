import { OptionError } from '../../errors/index.js';

/*
 * The slice of SQLite that tenure calls, and the two libraries that have it: `node:sqlite` where the runtime brings it
 * (Node 22.13 and later), else the package `libsql`. Both are synchronous, and bind every number as a REAL.
 */

export type SqliteValue = string | number | null;
export type SqliteRow = Readonly<Record<string, SqliteValue>>;

/** Binds in the order of the question marks. Never a single `null`: `libsql` takes that for an object of named values. */
export interface SqliteStatement {
  /** In `changes`, how many rows were written. */
  run(...values: SqliteValue[]): unknown;
  /** The first row; `undefined` if there is none. */
  get(...values: SqliteValue[]): unknown;
  all(...values: SqliteValue[]): unknown[];
}

export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
  /**
   * With `libsql` the file stays open until the statements have been garbage-collected. It is not locked meanwhile, and
   * nothing more is written to it.
   */
  close(): unknown;
}

export interface SqliteLibrary {
  /** Opens the file, and creates it if there is none. */
  open(path: string): SqliteDatabase;
  /** SQLite's own (extended) result code of something that was thrown; `undefined` if it is none of SQLite's. */
  resultCode(error: unknown): number | undefined;
}

/**
 * One library for the whole process: two copies of SQLite would take away each other's locks, since the kernel drops
 * all locks of a process on a file as soon as the process closes any descriptor of it.
 *
 * @throws {OptionError} if there is none.
 */
export async function loadSqlite(): Promise<SqliteLibrary> {
  const builtin = process.getBuiltinModule('node:sqlite') as unknown as BuiltinSqlite | undefined;
  return builtin === undefined ? await loadLibsql() : builtinLibrary(builtin);
}

interface BuiltinSqlite {
  readonly DatabaseSync: new (path: string) => SqliteDatabase;
}

function builtinLibrary({ DatabaseSync }: BuiltinSqlite): SqliteLibrary {
  return {
    open: (path) => new DatabaseSync(path),
    resultCode: (error) => numberOf(error, 'errcode'),
  };
}

async function loadLibsql(): Promise<SqliteLibrary> {
  try {
    const module = await import('libsql');
    const Database = module.default as unknown as new (path: string) => SqliteDatabase;
    return {
      open: (path) => new Database(path),
      resultCode: (error) => numberOf(error, 'rawCode') ?? openingCode(error),
    };
  } catch (cause) {
    throw missing(cause);
  }
}

/** The package may be there without the part for this platform, which npm leaves out with `--omit=optional`. */
function missing(cause: unknown): OptionError {
  const { code } = cause as NodeJS.ErrnoException;
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw cause;
  return new OptionError(
    'libsql',
    undefined,
    `is not installed, and Node ${process.versions.node} brings no SQLite of its own`,
    'run: npm install libsql; or use Node 22.13 or later, which needs no package',
  );
}

/** `libsql` puts the code of a file that cannot be opened nowhere but at the end of its message. */
function openingCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = /^ConnectionFailed\(.*: (\d+)"?\)$/s.exec(error.message)?.[1];
  return code === undefined ? undefined : Number(code);
}

function numberOf(error: unknown, property: string): number | undefined {
  const value: unknown = error instanceof Error ? Reflect.get(error, property) : undefined;
  return typeof value === 'number' ? value : undefined;
}
