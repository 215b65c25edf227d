import {
  OutcomeUnknownError,
  StoreMisconfiguredError,
  StoreRefusedError,
  UnreachableError,
} from '../../errors/index.js';
import { Backoff, sleep, within } from '../../time/index.js';
import type { FenceConnection } from './connection.js';
import { LockedError } from './failure.js';
import type { ResolvedOptions } from './options.js';
import type { Source } from './source.js';
import { assertSame, begin } from './statements.js';
import { SqliteFenceTransaction } from './transaction.js';
import { Turns } from './turns.js';

/**
 * SQLite itself would wait by blocking this thread, the renewals of leases included: so only for a transaction that is
 * just being committed. Longer waits are ours, with timers.
 */
const busyTimeoutMs = 5;

/** Runs transactions on the database of a {@link Source}, one at a time. */
export class FenceSession {
  readonly #source: Source;
  readonly #options: ResolvedOptions;
  readonly #turns: Turns;

  constructor(source: Source, options: ResolvedOptions) {
    this.#source = source;
    this.#options = options;
    this.#turns = new Turns(options.runtime);
  }

  /** A step outside of a transaction, in its turn. */
  async ask<Answer>(what: string, act: (connection: FenceConnection) => Answer): Promise<Answer> {
    return await this.#turns.take(what, this.#options.waitTimeoutMs, async () =>
      act(await this.#source.open()),
    );
  }

  /**
   * Runs `work` in a transaction that has the write lock from its begin: committed when its promise resolves, rolled
   * back when it rejects, or takes longer than `transactionTimeoutMs`.
   */
  async transact<Result>(
    what: string,
    work: (transaction: SqliteFenceTransaction) => Promise<Result> | Result,
  ): Promise<Result> {
    const { runtime, waitTimeoutMs } = this.#options;
    const deadlineMs = runtime.now().monotonicMs + waitTimeoutMs;
    return await this.#turns.take(what, waitTimeoutMs, async () => {
      const connection = await this.#source.open();
      const restore = this.#waitBriefly(connection);
      let isDone = false;
      try {
        await this.#begin(connection, what, deadlineMs);
        const result = await this.#run(connection, what, work);
        isDone = true;
        return result;
      } finally {
        restore();
        if (!isDone) this.#source.doubt();
      }
    });
  }

  async close(): Promise<void> {
    await this.#turns.over();
    this.#source.close();
  }

  #waitBriefly(connection: FenceConnection): () => void {
    const before = Number(connection.pragma('busy_timeout'));
    connection.pragma(`busy_timeout = ${busyTimeoutMs}`);
    return () => connection.pragma(`busy_timeout = ${before}`);
  }

  async #begin(connection: FenceConnection, what: string, deadlineMs: number): Promise<void> {
    if (connection.isInTransaction)
      throw new StoreRefusedError(
        'SQLITE_ERROR',
        `${what} was refused, nothing was written: another transaction is open on this connection. Give the fence a connection of its own, or use fence.check in that transaction.`,
      );
    await this.#whileLocked(() => connection.exec(begin, 'transaction', what), deadlineMs);
  }

  async #run<Result>(
    connection: FenceConnection,
    what: string,
    work: (transaction: SqliteFenceTransaction) => Promise<Result> | Result,
  ): Promise<Result> {
    const { runtime, transactionTimeoutMs } = this.#options;
    const deadlineMs = runtime.now().monotonicMs + transactionTimeoutMs;
    const transaction = new SqliteFenceTransaction(connection);
    let isAtWork = true;
    try {
      const result = await this.#inTime(work(transaction), what, deadlineMs);
      transaction.end();
      isAtWork = false;
      this.#assertSame(connection, what);
      await this.#whileLocked(() => connection.exec('COMMIT', 'commit', what), deadlineMs);
      return result;
    } catch (error) {
      transaction.abandon();
      try {
        if (isAtWork && !isOfSqlite(error)) this.#assertSame(connection, what, error);
      } finally {
        rollBack(connection);
      }
      throw error;
    }
  }

  /** A process that was stopped notices at the end, and what it did is rolled back. */
  async #inTime<Result>(
    working: Promise<Result> | Result,
    what: string,
    deadlineMs: number,
  ): Promise<Result> {
    const { runtime, transactionTimeoutMs } = this.#options;
    const late = () =>
      new LateError(
        `${what} was rolled back, nothing was written: its work took longer than ${transactionTimeoutMs} ms.`,
      );
    const remainingMs = deadlineMs - runtime.now().monotonicMs;
    const result = await within(runtime, remainingMs, Promise.resolve(working), late);
    if (runtime.now().monotonicMs >= deadlineMs) throw late();
    return result;
  }

  /** @param failure what the work has thrown, if it has. */
  #assertSame(connection: FenceConnection, what: string, failure?: unknown): void {
    try {
      connection.exec(assertSame, 'transaction', what);
    } catch (error) {
      throw new OutcomeUnknownError(
        `${what}: its work ended the transaction itself. What it wrote until then may be there, and what it wrote afterwards was not guarded. Leave COMMIT and ROLLBACK to the fence.`,
        failure ?? error,
      );
    }
  }

  async #whileLocked(act: () => void, deadlineMs: number): Promise<void> {
    const { runtime } = this.#options;
    const backoff = new Backoff(runtime, { firstMs: 2, limitMs: 40 });
    for (;;) {
      try {
        act();
        return;
      } catch (error) {
        const isOver = runtime.now().monotonicMs >= deadlineMs;
        if (!(error instanceof LockedError) || isOver) throw error;
      }
      await sleep(runtime, backoff.nextMs());
    }
  }
}

class LateError extends UnreachableError {}

/** Whether it is a failure of the fence's own statements: after some of those SQLite has rolled the transaction back. */
function isOfSqlite(error: unknown): boolean {
  if (error instanceof UnreachableError) return !(error instanceof LateError);
  return error instanceof StoreRefusedError || error instanceof StoreMisconfiguredError;
}

/** Most failures leave it open; some have ended it, and then there is nothing to do. */
function rollBack({ handle }: FenceConnection): void {
  try {
    handle.exec('ROLLBACK');
  } catch {
    // There is none any more.
  }
}
