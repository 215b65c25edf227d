import {
  type Ask,
  ask,
  noTransaction,
  type PostgresQueryable,
} from '../../drivers/postgres/index.js';
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
  /** Clients inside a transaction that the fence itself has begun. */
  readonly #hosted = new WeakSet<PostgresQueryable>();

  constructor(statements: FenceStatements) {
    this.#statements = statements;
  }

  /** Runs the work of a transaction that the fence has begun on this client and will end. */
  async host<Client extends PostgresQueryable, Result>(
    client: Client,
    work: (client: Client) => Promise<Result>,
  ): Promise<Result> {
    this.#hosted.add(client);
    try {
      return await work(client);
    } finally {
      this.#hosted.delete(client);
    }
  }

  /**
   * Runs `step` inside the caller's transaction; after a failure that can only be rolled back. (Not after a number that
   * was used twice: that is an answer, and the caller may want to keep it.)
   *
   * @throws {OptionError} if there is no transaction.
   */
  async run<Result>(
    transaction: PostgresQueryable,
    own: Ask,
    step: () => Result | Promise<Result>,
  ): Promise<Result> {
    assertQueryable(transaction);
    try {
      if (!this.#hosted.has(transaction)) await this.#assertTransaction(transaction, own);
      return await step();
    } catch (error) {
      if (!(error instanceof SequenceReusedError)) await this.#spoil(transaction, own, error);
      throw error;
    }
  }

  async #assertTransaction(transaction: PostgresQueryable, own: Ask): Promise<void> {
    try {
      await ask(transaction, own, this.#statements.assertTransaction);
    } catch (error) {
      if (!(error instanceof StoreRefusedError && error.storeCode === noTransaction)) throw error;
      throw outsideTransaction(transaction, 'send BEGIN on a client first');
    }
  }

  async #spoil(transaction: PostgresQueryable, own: Ask, failure: unknown): Promise<void> {
    const spoiling = ask(transaction, own, this.#statements.spoil).catch(() => {});
    // No answer came to what stands before it, either. Whatever the caller sends next stands behind it.
    if (!(failure instanceof UnreachableError)) await spoiling;
  }
}

/** A pool hands each statement to any of its connections, so that none of them guards another. */
function assertQueryable(transaction: PostgresQueryable): void {
  const { query, totalCount } = Object(transaction);
  if (typeof query === 'function' && typeof totalCount !== 'number') return;
  const remedy = 'pass the client on which BEGIN was sent';
  throw new OptionError('transaction', transaction, 'is not a PostgreSQL client', remedy);
}
