import { ClosedError } from '../../errors/index.js';
import type { FenceConnection } from './connection.js';
import type { SqliteBindable } from './handle.js';

/**
 * A transaction that a fence has begun, and will end. It has the file's write lock: other writers wait, readers do not.
 *
 * What SQLite or its library throws passes as it is. After the end every call throws `ClosedError`.
 */
export class SqliteFenceTransaction {
  readonly #connection: FenceConnection;
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;

  /** @internal */
  constructor(connection: FenceConnection) {
    this.#connection = connection;
  }

  /** Runs one statement, with values for its question marks. @returns how many rows were written. */
  run(sql: string, ...values: SqliteBindable[]): number {
    const result = this.#prepare(sql).run(...(values as never[]));
    return Number(Object(result).changes ?? 0);
  }

  /** The first row; `undefined` if there is none. */
  get(sql: string, ...values: SqliteBindable[]): Record<string, unknown> | undefined {
    return this.#prepare(sql).get(...(values as never[])) as Record<string, unknown> | undefined;
  }

  all(sql: string, ...values: SqliteBindable[]): Record<string, unknown>[] {
    return this.#prepare(sql).all(...(values as never[])) as Record<string, unknown>[];
  }

  /** Runs any number of statements, without values. */
  exec(sql: string): void {
    this.#assertOpen();
    this.#connection.handle.exec(sql);
  }

  /** @internal */
  get connection(): FenceConnection {
    this.#assertOpen();
    return this.#connection;
  }

  /** @internal A check in it has failed. */
  spoil(error: unknown): void {
    this.#failure ??= { error };
  }

  /** @internal @throws the failure of a check that the work has swallowed. */
  end(): void {
    this.#isOver = true;
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** @internal It is to be rolled back. */
  abandon(): void {
    this.#isOver = true;
  }

  #prepare(sql: string) {
    this.#assertOpen();
    return this.#connection.handle.prepare(sql);
  }

  /** What comes late would be written outside of the transaction, unguarded. */
  #assertOpen(): void {
    if (this.#isOver) throw new ClosedError('the transaction of the SQLite fence');
  }
}
