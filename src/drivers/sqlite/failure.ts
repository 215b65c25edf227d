import type { SqlitePhase } from './errors.js';

/** SQLite answered with a result code. Never leaves this room: `sqliteError` says what it means. */
export class SqliteFailure extends Error {
  readonly resultCode: number;
  readonly phase: SqlitePhase;

  constructor(resultCode: number, phase: SqlitePhase) {
    super(`SQLite result code ${resultCode}`);
    this.resultCode = resultCode;
    this.phase = phase;
  }
}
