import { SequenceReusedError, StoreMisconfiguredError } from '../../errors/index.js';
import { outsideTransaction } from '../rule.js';
import { FenceConnection } from './connection.js';
import { requireHandle, type SqliteHandle } from './handle.js';
import { requireDurable } from './source.js';
import { lock, spoil } from './statements.js';
import { SqliteFenceTransaction } from './transaction.js';

/**
 * What the fence does inside a transaction: its own, or one that somebody else began on a connection of theirs. A failure
 * there cannot be swallowed and committed.
 */
export class Guest {
  readonly #connections = new WeakMap<SqliteHandle, FenceConnection>();

  /**
   * Runs `step` with the write lock; after a failure the transaction can only be rolled back. (Not after a number that was
   * used twice: that is an answer, and the caller may want to keep it.)
   *
   * @throws {OptionError} if there is no transaction.
   */
  run<Result>(
    transaction: SqliteFenceTransaction | SqliteHandle,
    what: string,
    step: (connection: FenceConnection) => Result,
  ): Result {
    const connection = this.#connectionOf(transaction);
    try {
      if (!(transaction instanceof SqliteFenceTransaction)) requireGuardable(connection);
      // Not prepared: a prepared statement that fails keeps some libraries from ever committing on the connection again.
      connection.exec(lock, 'transaction', what);
      return step(connection);
    } catch (error) {
      if (error instanceof SequenceReusedError) throw error;
      if (transaction instanceof SqliteFenceTransaction) transaction.spoil(error);
      else leaveUncommittable(connection, what);
      throw error;
    }
  }

  #connectionOf(transaction: SqliteFenceTransaction | SqliteHandle): FenceConnection {
    if (transaction instanceof SqliteFenceTransaction) return transaction.connection;
    const handle = requireHandle('transaction', transaction);
    let connection = this.#connections.get(handle);
    if (connection === undefined) {
      connection = new FenceConnection(handle);
      this.#connections.set(handle, connection);
    }
    if (connection.isInTransaction) return connection;
    throw outsideTransaction('a database', 'run BEGIN IMMEDIATE on it first');
  }
}

/** Nothing that the caller writes from now on is committed, nor what it wrote before. */
function leaveUncommittable(connection: FenceConnection, what: string): void {
  const { isInTransaction } = connection;
  if (!looksAtReferences(connection)) {
    // Then no commit can be made to fail: what was written before is taken back, the rest is left to the caller.
    connection.exec(isInTransaction ? 'ROLLBACK; BEGIN' : 'BEGIN', 'transaction', what);
    return;
  }
  // A full disk, say, has made SQLite roll back by itself: each further statement would be committed at once.
  connection.exec(isInTransaction ? spoil : `BEGIN; ${spoil}`, 'transaction', what);
}

function looksAtReferences(connection: FenceConnection): boolean {
  return Number(connection.pragma('foreign_keys')) === 1;
}

/** @throws {StoreMisconfiguredError} */
function requireGuardable(connection: FenceConnection): void {
  if (!looksAtReferences(connection))
    throw new StoreMisconfiguredError(
      'the database has PRAGMA foreign_keys off, without which a transaction that was refused could still be committed. Set PRAGMA foreign_keys = ON when it is opened, or use fence.transaction.',
    );
  requireDurable(connection.handle);
}
