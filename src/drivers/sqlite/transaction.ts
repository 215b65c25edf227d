import type { SqliteRow, SqliteValue } from './client.js';
import type { SqliteClock, SqliteMoment } from './clock.js';
import type { SqliteConnection } from './connection.js';
import { requireSameBoot, type SqliteSchema } from './schema.js';

/** A `read` sees one state of the file and takes no lock that others wait for; a `write` is alone while it lasts. */
export type SqliteMode = 'read' | 'write';

/** What a step may do while it lasts, and when it is. */
export interface SqliteTransaction extends SqliteMoment {
  readonly mode: SqliteMode;
  get(sql: string, ...values: SqliteValue[]): SqliteRow | undefined;
  all(sql: string, ...values: SqliteValue[]): SqliteRow[];
  /** @returns how many rows were written. */
  run(sql: string, ...values: SqliteValue[]): number;
}

export type TransactionOutcome<Answer> =
  | { readonly answer: Answer }
  /** Not executed: the open file is not the one under its path. */
  | 'moved'
  /** Not executed: the time for it was over. */
  | 'late';

/**
 * One step: nothing of it remains if it throws, or takes too long. The clock is read after the lock was had, so that what
 * is judged by it is judged when it is executed, however long the wait was.
 *
 * A process may be stopped between any two statements. `isLate` is asked again before the commit, so that what was stopped
 * inside is rolled back when it wakes, and only a stop within the commit itself lets it be executed late. Nobody else can
 * have come in between.
 */
export function runTransaction<Answer>(
  connection: SqliteConnection,
  mode: SqliteMode,
  { clock, schema }: { readonly clock: SqliteClock; readonly schema: SqliteSchema },
  isLate: () => boolean,
  execute: (transaction: SqliteTransaction) => Answer,
): TransactionOutcome<Answer> {
  connection.begin(mode);
  try {
    if (connection.isMoved()) return 'moved';
    // Also what makes a read see the state of this moment, before the clock is read.
    requireSameBoot(connection, schema, clock);
    if (isLate()) return 'late';
    const answer = execute({
      ...clock.now(),
      mode,
      get: (sql, ...values) => connection.get(sql, ...values),
      all: (sql, ...values) => connection.all(sql, ...values),
      run: (sql, ...values) => connection.run(sql, ...values),
    });
    if (isLate()) return 'late';
    connection.commit();
    return { answer };
  } finally {
    connection.rollback();
  }
}
