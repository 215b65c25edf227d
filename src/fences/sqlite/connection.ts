import type { SqlitePhase } from '../../drivers/sqlite/index.js';
import { failureOf } from './failure.js';
import {
  isInTransaction,
  pragma,
  resultCodeOf,
  type SqliteBindable,
  type SqliteHandle,
  type SqliteHandleStatement,
} from './handle.js';

export type Row = Readonly<Record<string, unknown>>;

/** The fence's own statements on one open database, prepared once. What they throw is one of tenure's errors. */
export class FenceConnection {
  readonly handle: SqliteHandle;
  readonly #statements = new Map<string, SqliteHandleStatement>();
  #path: string | undefined;

  constructor(handle: SqliteHandle) {
    this.handle = handle;
  }

  /** The file, for messages and for what the kernel knows of its locks. Empty if it is none. */
  get path(): string {
    this.#path ??= String(Object(this.handle.prepare('PRAGMA database_list').get()).file ?? '');
    return this.#path;
  }

  get isInTransaction(): boolean {
    return isInTransaction(this.handle);
  }

  pragma(name: string): unknown {
    return pragma(this.handle, name);
  }

  exec(sql: string, phase: SqlitePhase, what: string): void {
    this.#attempt(phase, what, () => this.handle.exec(sql));
  }

  get(what: string, sql: string, ...values: SqliteBindable[]): Row | undefined {
    return this.#execute(what, sql, (statement) => statement.get(...(values as never[]))) as Row;
  }

  /** @returns how many rows were written. */
  run(what: string, sql: string, ...values: SqliteBindable[]): number {
    const result = this.#execute(what, sql, (statement) => statement.run(...(values as never[])));
    return Number(Object(result).changes ?? 0);
  }

  #execute<Value>(
    what: string,
    sql: string,
    act: (statement: SqliteHandleStatement) => Value,
  ): Value {
    return this.#attempt('transaction', what, () => {
      let statement = this.#statements.get(sql);
      if (statement === undefined) {
        statement = this.handle.prepare(sql);
        this.#statements.set(sql, statement);
      }
      try {
        return act(statement);
      } catch (error) {
        // One that failed may be left in a state in which it cannot be used again.
        this.#statements.delete(sql);
        throw error;
      }
    });
  }

  #attempt<Value>(phase: SqlitePhase, what: string, act: () => Value): Value {
    try {
      return act();
    } catch (error) {
      const code = resultCodeOf(error);
      throw code === undefined ? error : failureOf(error as Error, code, phase, what, this.path);
    }
  }
}
