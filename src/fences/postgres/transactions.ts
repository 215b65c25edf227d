import { NoAnswerError, withDeadline } from '../../drivers/deadline.js';
import {
  classifyPostgresError,
  type PostgresClient,
  type PostgresPoolHandle,
  type PostgresResult,
  runTransaction,
  type Statement,
  type TransactionSteps,
  writeGuarded,
} from '../../drivers/postgres/index.js';
import { StoreRefusedError } from '../../errors/index.js';
import type { Candidate } from '../rule.js';
import type { TermGuard } from './guard.js';
import type { Guest } from './guest.js';
import type { Opening } from './opening.js';
import type { ResolvedOptions } from './options.js';
import { runStatement, standsAlone } from './statement.js';
import { notInstalled, otherIsolation, otherLimits } from './statements.js';

/** Named, since a role or a database may have another default, in which races end in errors. */
const beginCommitted = 'BEGIN ISOLATION LEVEL READ COMMITTED';

/** The fence's own transactions, and how each of them is begun at the least cost that its session lets it have. */
export class FenceTransactions<Client extends PostgresClient> {
  readonly #options: ResolvedOptions;
  readonly #guard: TermGuard;
  readonly #guest: Guest;
  readonly #pool: PostgresPoolHandle<Client>;
  /** Whether some session here has another isolation by default. */
  #namesIsolation = false;

  constructor(
    options: ResolvedOptions,
    guard: TermGuard,
    guest: Guest,
    pool: PostgresPoolHandle<Client>,
  ) {
    this.#options = options;
    this.#guard = guard;
    this.#guest = guest;
    this.#pool = pool;
  }

  /** A transaction that asks for itself whatever it has to ask. */
  run<Result>(
    what: string,
    body: (client: Client) => Promise<Result>,
    { begin, mark, prepared }: Omit<TransactionSteps, 'ask'> = { begin: beginCommitted },
  ): Promise<Result> {
    const { runtime, timeoutMs } = this.#options;
    const steps = { begin, mark, prepared, ask: { runtime, timeoutMs, what } };
    return this.#pool.withSession(what, (session) => runTransaction(session, steps, body));
  }

  /** Installs the candidate, unless it is refused. */
  async claim(candidate: Candidate, what: string): Promise<void> {
    // The pool may be the user's, whose limits are too short for this wait. What is waited for is locks.
    const limits = `SET LOCAL lock_timeout = ${this.#options.waitTimeoutMs}; SET LOCAL statement_timeout = 0`;
    const begin = `${beginCommitted}; ${limits}`;
    await this.run(what, (client) => this.#guard.admit(client, candidate, what), { begin });
    this.#guard.committed(candidate);
  }

  /** Runs the work in a transaction under a token that is installed, or that it installs. */
  async under<Result>(
    candidate: Candidate,
    what: string,
    work: (transaction: Client) => Promise<Result>,
  ): Promise<Result> {
    const result = await this.#under(candidate, what, work);
    this.#guard.committed(candidate);
    return result;
  }

  async #under<Result>(
    candidate: Candidate,
    what: string,
    work: (transaction: Client) => Promise<Result>,
  ): Promise<Result> {
    let hasBegun = false;
    const hosted = (client: Client) => {
      hasBegun = true;
      return this.#guest.host(client, work);
    };
    const opening = this.#guard.atBegin(candidate);
    if (opening !== undefined) {
      try {
        return await this.run(what, hosted, this.#stepsOf(opening));
      } catch (error) {
        if (hasBegun || !this.#mayBeAdmitted(error)) throw error;
      }
    }
    return await this.run(what, async (client) => {
      await this.#guard.admit(client, candidate, what);
      return await hosted(client);
    });
  }

  /** One statement: in one message if that can be, and as the work of a transaction otherwise. */
  async write<Row extends object>(
    candidate: Candidate,
    what: string,
    statement: Statement,
  ): Promise<PostgresResult<Row>> {
    const written = await this.#writeAtOnce<Row>(candidate, what, statement);
    if (written !== undefined) return written;
    return await this.under(candidate, what, (client) =>
      this.#inTime(what, runStatement<Row>(client, statement)),
    );
  }

  /** Of the server's own limits a statement has the first two, and its answer what is left. */
  get #writeTimeoutMs(): number {
    const { waitTimeoutMs, timeoutMs } = this.#options;
    return waitTimeoutMs + 2 * timeoutMs;
  }

  async #inTime<Result>(what: string, running: Promise<Result>): Promise<Result> {
    try {
      return await withDeadline(this.#options.runtime, this.#writeTimeoutMs, running);
    } catch (error) {
      throw error instanceof NoAnswerError
        ? classifyPostgresError(error, 'transaction', what)
        : error;
    }
  }

  /** `undefined`: it cannot be in one message, or the token did not pass. Nothing was executed. */
  async #writeAtOnce<Row extends object>(
    candidate: Candidate,
    what: string,
    statement: Statement,
  ): Promise<PostgresResult<Row> | undefined> {
    const guard = this.#guard.atOnce(candidate);
    // A transaction that the server begins by itself has the isolation of its session.
    if (guard === undefined || this.#namesIsolation || !standsAlone(statement)) return undefined;
    const own = { runtime: this.#options.runtime, timeoutMs: this.#writeTimeoutMs, what };
    return await this.#pool.withSession(what, (session) =>
      writeGuarded<Row>(session, guard, statement, own),
    );
  }

  /** Where the default is READ COMMITTED already, it need not be named, which costs as much as a lock. */
  #stepsOf({ mark, prepared }: Opening): Omit<TransactionSteps, 'ask'> {
    return this.#namesIsolation
      ? { begin: beginCommitted, mark }
      : { begin: 'BEGIN', mark, prepared };
  }

  /** Whether the begin of a transaction was refused for what another one, which asks more, can put right. */
  #mayBeAdmitted(error: unknown): boolean {
    if (!(error instanceof StoreRefusedError)) return false;
    switch (error.storeCode) {
      case notInstalled:
        return true;
      case otherIsolation:
        this.#namesIsolation = true;
        return true;
      case otherLimits:
        this.#guard.setLimits();
        return true;
      default:
        return false;
    }
  }
}
