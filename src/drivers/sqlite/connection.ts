import { RecordCorruptError } from '../../errors/index.js';
import type {
  SqliteDatabase,
  SqliteLibrary,
  SqliteRow,
  SqliteStatement,
  SqliteValue,
} from './client.js';
import type { SqlitePhase } from './errors.js';
import { SqliteFailure } from './failure.js';
import { type FileIdentity, identifyFile, isSameFile } from './file.js';

/** One open file, with statements that are prepared once. All calls are synchronous, and throw {@link SqliteFailure}. */
export class SqliteConnection {
  readonly path: string;
  readonly #library: SqliteLibrary;
  readonly #database: SqliteDatabase;
  readonly #identity: FileIdentity;
  readonly #statements = new Map<string, SqliteStatement>();
  #isInTransaction = false;
  #isSpoiled = false;

  /** Opens the file that `identity` was read from. */
  constructor(library: SqliteLibrary, path: string, identity: FileIdentity) {
    this.path = path;
    this.#library = library;
    this.#identity = identity;
    this.#database = this.#attempt('open', () => library.open(path));
  }

  /** Whether another file, or none, is under the path by now. */
  isMoved(): boolean {
    return !isSameFile(this.#identity, identifyFile(this.path));
  }

  /** Rises, or at least changes, with every commit of another connection. */
  dataVersion(): number {
    return Number(this.pragma('data_version'));
  }

  pragma(name: string): SqliteValue | undefined {
    return Object.values(this.get(`PRAGMA ${name}`) ?? {})[0];
  }

  /**
   * A statement failed. `libsql` does not reset it, and as long as it is not, no transaction can be committed any more
   * ("SQL statements in progress"): open the file anew.
   */
  get isSpoiled(): boolean {
    return this.#isSpoiled;
  }

  // Not prepared, unlike all else: these are the statements that fail every day, and a failure would spoil them.

  begin(mode: 'read' | 'write'): void {
    this.exec(mode === 'write' ? 'BEGIN IMMEDIATE' : 'BEGIN');
    this.#isInTransaction = true;
  }

  commit(): void {
    this.#attempt('commit', () => this.#database.exec('COMMIT'));
    this.#isInTransaction = false;
  }

  /** Safe if there is no transaction, also one that SQLite has rolled back by itself. */
  rollback(): void {
    if (!this.#isInTransaction) return;
    this.#isInTransaction = false;
    try {
      this.#database.exec('ROLLBACK');
    } catch {
      // Most failures end the transaction themselves; the next BEGIN would say so if this one had not.
    }
  }

  get(sql: string, ...values: SqliteValue[]): SqliteRow | undefined {
    return this.#execute(sql, (statement) => statement.get(...values)) as SqliteRow | undefined;
  }

  all(sql: string, ...values: SqliteValue[]): SqliteRow[] {
    return this.#execute(sql, (statement) => statement.all(...values)) as SqliteRow[];
  }

  /** @returns how many rows were written. */
  run(sql: string, ...values: SqliteValue[]): number {
    const result = this.#execute(sql, (statement) => statement.run(...values));
    return Number((result as { readonly changes?: number | bigint }).changes ?? 0);
  }

  exec(sql: string): void {
    this.#attempt('transaction', () => this.#database.exec(sql));
  }

  close(): void {
    this.rollback();
    this.#statements.clear();
    try {
      this.#database.close();
    } catch {
      // Nothing of ours is open in it any more.
    }
  }

  #prepared(sql: string): SqliteStatement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #execute<Value>(sql: string, act: (statement: SqliteStatement) => Value): Value {
    try {
      return this.#attempt('transaction', () => act(this.#prepared(sql)));
    } catch (error) {
      this.#isSpoiled = true;
      throw error;
    }
  }

  #attempt<Value>(phase: SqlitePhase, act: () => Value): Value {
    try {
      return act();
    } catch (error) {
      const code = this.#library.resultCode(error);
      if (code !== undefined) throw new SqliteFailure(code, phase);
      throw error instanceof RangeError ? this.#tooLarge() : error;
    }
  }
  /** The SQLite of Node reads no integer above 2^53, which nothing of ours writes; that of libsql rounds it. */
  #tooLarge(): RecordCorruptError {
    return new RecordCorruptError(
      `${this.path} holds a number that tenure never writes: something else has written to its tables. Put that right, or move the file away.`,
    );
  }
}
