import {
  type Ask,
  ask,
  autocommits,
  inTransaction,
  type MysqlQueryable,
  readOnlyTransaction,
  rollBackEarly,
} from '../../drivers/mysql/index.js';
import {
  OptionError,
  SequenceReusedError,
  StoreRefusedError,
  UnreachableError,
} from '../../errors/index.js';
import { outsideTransaction } from '../rule.js';
import type { FenceStatements } from './statements.js';

/**
 * What the fence does inside a transaction that somebody else began, and will end: it makes sure that there is one, and
 * that a failure of ours cannot be swallowed and committed.
 */
export class Guest {
  readonly #statements: FenceStatements;
  /** Connections inside a transaction that the fence itself has begun, with what has failed in it first. */
  readonly #hosted = new WeakMap<MysqlQueryable, { failure?: unknown }>();

  constructor(statements: FenceStatements) {
    this.#statements = statements;
  }

  /** Runs the work of a transaction that the fence has begun on this connection and will end. */
  async host<Connection extends MysqlQueryable, Result>(
    connection: Connection,
    what: string,
    work: (connection: Connection) => Promise<Result>,
  ): Promise<Result> {
    const state: { failure?: unknown } = {};
    this.#hosted.set(connection, state);
    try {
      const result = await work(connection);
      if ('failure' in state) throw spoilt(what, state.failure);
      return result;
    } finally {
      this.#hosted.delete(connection);
    }
  }

  isHosted(connection: MysqlQueryable): boolean {
    return this.#hosted.has(connection);
  }

  /**
   * Runs `step` inside the caller's transaction; after a failure that can only be rolled back. (Not after a number that
   * was used twice: that is an answer, and the caller may want to keep it.)
   *
   * @throws {OptionError} if there is no transaction.
   */
  async run<Result>(
    transaction: MysqlQueryable,
    own: Ask,
    step: () => Result | Promise<Result>,
  ): Promise<Result> {
    assertQueryable(transaction);
    let isOutside = false;
    try {
      isOutside = !(this.isHosted(transaction) || (await this.#enter(transaction, own)));
      if (isOutside)
        throw outsideTransaction(transaction, 'send START TRANSACTION on a connection first');
      return await step();
    } catch (error) {
      const isAnswer = isOutside || error instanceof SequenceReusedError;
      if (!isAnswer) await this.#spoil(transaction, own, error);
      throw error;
    }
  }

  /** Whether there is a transaction. */
  async #enter(transaction: MysqlQueryable, own: Ask): Promise<boolean> {
    const { enter, leave } = this.#statements;
    const { serverStatus } = await ask(transaction, own, enter);
    if (serverStatus === undefined) throw withoutStatus();
    // Where nothing commits by itself, a transaction begins with the next statement.
    if ((serverStatus & inTransaction) !== 0 || (serverStatus & autocommits) === 0) return true;
    await ask(transaction, own, leave);
    return false;
  }

  /**
   * A transaction that may only read takes the place of this one: whatever the caller writes next fails, and its commit
   * or rollback ends an empty one. Without it, each further write would be committed by itself.
   *
   * All statements stand in the connection's queue at once, so that nothing comes between them.
   */
  async #spoil(transaction: MysqlQueryable, own: Ask, failure: unknown): Promise<void> {
    const state = this.#hosted.get(transaction);
    if (state !== undefined && !('failure' in state)) state.failure = failure;
    const spoiling = rollBackEarly(transaction, own, 'START TRANSACTION READ ONLY').then(
      () => true,
      () => false,
    );
    // No answer came to what stands before it, either. Whatever the caller sends next stands behind it.
    if (failure instanceof UnreachableError || (await spoiling)) return;
    const { destroy } = Object(transaction);
    if (typeof destroy === 'function') destroy.call(transaction);
  }
}

function spoilt(what: string, cause: unknown): StoreRefusedError {
  return new StoreRefusedError(
    readOnlyTransaction,
    `${what} was refused, nothing was written: a check or a record in it had failed before, and its error was not passed on.`,
    cause,
  );
}

function withoutStatus(): OptionError {
  return new OptionError(
    'transaction',
    'a connection',
    'answers without `serverStatus`, so that nobody can tell whether it is inside a transaction',
    'pass the connection of mysql2/promise, or let what wraps it hand on its answers as they are',
  );
}

/** A pool hands each statement to any of its connections, so that none of them guards another. */
function assertQueryable(transaction: MysqlQueryable): void {
  const { query, execute, getConnection, promise } = Object(transaction);
  const isConnection = typeof query === 'function' && typeof execute === 'function';
  if (isConnection && typeof getConnection !== 'function' && typeof promise !== 'function') return;
  const remedy =
    'pass the connection of mysql2/promise on which START TRANSACTION was sent (`connection.promise()` of one with callbacks)';
  throw new OptionError('transaction', transaction, 'is not a connection of promises', remedy);
}
