import {
  ask,
  migrationLockKey,
  type PostgresClient,
  type PostgresPool,
  PostgresPoolHandle,
  type PostgresQueryable,
  type PostgresResult,
} from '../../drivers/postgres/index.js';
import { type Known, requireKnown } from '../../errors/checks.js';
import type { FencePromises, FencingToken, StoredFence } from '../contract.js';
import { FenceInTables } from '../fence-in-tables.js';
import {
  type Candidate,
  type Effect,
  forgottenAtOnce,
  type InstalledTerm,
  judgeRepetition,
} from '../rule.js';
import { TermGuard } from './guard.js';
import { Guest } from './guest.js';
import { type PostgresFenceOptions, type ResolvedOptions, resolveOptions } from './options.js';
import { type PostgresStatement, validateStatement } from './statement.js';
import { type FenceStatements, fenceStatements, migrationSql } from './statements.js';
import { FenceTransactions } from './transactions.js';

/** A fence whose terms live in tables beside the data it guards. See {@link postgresFence}. */
export interface PostgresFence<Client extends PostgresClient = PostgresClient>
  extends StoredFence<Client, PostgresQueryable> {
  /**
   * As in {@link TransactionFence.check}, for any client that is inside a transaction.
   *
   * Not within a savepoint: rolling back to it would let go of the term. In `REPEATABLE READ` or `SERIALIZABLE` a race
   * with a claim ends in {@link StoreRefusedError} `40001`, and a token that is not installed yet is refused with
   * {@link OptionError}: claim it first. In `READ COMMITTED` a race ends in a wait.
   */
  check(transaction: PostgresQueryable, token: FencingToken): Promise<void>;
  /**
   * Executes one statement, and commits it in one atomic step with the check of the token: what {@link transaction} does with
   * `client.query(text, values)` as its work, in one message to the server where that can be.
   *
   * It has `waitTimeoutMs` and twice `timeoutMs` for all of it there, and for the statement alone elsewhere.
   *
   * @param statement its text, or `{ text, values, name }`. One statement, without `BEGIN` or `COMMIT`.
   * @param values as `pg` takes them.
   * @returns as `client.query` does: `rows`, `rowCount`.
   * @throws {StaleTermError} or {@link LeaseEndedError}, as {@link claim}, with nothing executed; what the statement fails with,
   * as `pg` has it, with nothing written; {@link OutcomeUnknownError} if no answer came, or the connection was lost before it did;
   * {@link UnreachableError} if that was before the commit was sent: nothing was written.
   */
  write<Row extends object = Record<string, unknown>>(
    token: FencingToken,
    statement: string | PostgresStatement,
    values?: readonly unknown[],
  ): Promise<PostgresResult<Row>>;
}

/**
 * A fence in PostgreSQL: the term is checked in the transaction that writes, and both commit together or not at all.
 *
 * @param source a URL, for which a small pool of our own is opened on first use (needs the package `pg`), or your own
 * `Pool`, which is never closed by the fence.
 * @throws {OptionError} if the URL, the pool or an option is not usable. Nothing is connected yet.
 */
export function postgresFence<Client extends PostgresClient = PostgresClient>(
  source: string | PostgresPool<Client>,
  options: PostgresFenceOptions = {},
): PostgresFence<Client> {
  requireKnown('options', options, optionKeys);
  return new FenceInPostgres(source, resolveOptions(options, typeof source === 'string'));
}

const optionKeys: Known<PostgresFenceOptions> = {
  schema: true,
  idleInTransactionTimeoutMs: true,
  waitTimeoutMs: true,
  timeoutMs: true,
  maxConnections: true,
  leases: true,
  runtime: true,
};

/** Whether the sessions of a pool should have the idle limit of the fence. A pool of `pg` tells with what it opens them. */
function isLimited(
  source: string | PostgresPool,
  { idleInTransactionTimeoutMs }: ResolvedOptions,
): boolean {
  if (typeof source === 'string') return true;
  const { options } = Object(source);
  return Object(options).idle_in_transaction_session_timeout === idleInTransactionTimeoutMs;
}

class FenceInPostgres<Client extends PostgresClient>
  extends FenceInTables<Client, PostgresQueryable>
  implements PostgresFence<Client>
{
  readonly promises: FencePromises = {
    resource: 'postgres',
    atomicWithEffect: true,
    durability: 'crash',
    writersOfOneTerm: 'concurrent',
  };
  readonly migrationSql: string;
  protected readonly title = 'the PostgreSQL fence';
  readonly #options: ResolvedOptions;
  readonly #statements: FenceStatements;
  readonly #guard: TermGuard;
  readonly #guest: Guest;
  readonly #pool: PostgresPoolHandle<Client>;
  readonly #transactions: FenceTransactions<Client>;

  constructor(source: string | PostgresPool<Client>, options: ResolvedOptions) {
    super();
    this.#options = options;
    this.#statements = fenceStatements(options.quotedSchema);
    this.#guard = new TermGuard(options, this.#statements, isLimited(source, options));
    this.#guest = new Guest(this.#statements);
    this.migrationSql = migrationSql(options.schema);
    this.#pool = new PostgresPoolHandle(source, {
      ...options,
      lockTimeoutMs: options.waitTimeoutMs,
      statementTimeoutMs: options.waitTimeoutMs + options.timeoutMs,
    });
    this.#transactions = new FenceTransactions(options, this.#guard, this.#guest, this.#pool);
  }

  async write<Row extends object = Record<string, unknown>>(
    token: FencingToken,
    statement: string | PostgresStatement,
    values?: readonly unknown[],
  ): Promise<PostgresResult<Row>> {
    const candidate = this.accept(token);
    const asked = validateStatement(statement, values);
    const what = `the write under "${candidate.name}"`;
    return await this.#transactions.write<Row>(candidate, what, asked);
  }

  protected install(candidate: Candidate, what: string): Promise<void> {
    return this.#transactions.claim(candidate, what);
  }

  protected runUnder<Result>(
    candidate: Candidate,
    what: string,
    work: (transaction: Client) => Promise<Result>,
  ): Promise<Result> {
    return this.#transactions.under(candidate, what, work);
  }

  protected async inside<Result>(
    transaction: PostgresQueryable,
    what: string,
    step: (open: PostgresQueryable) => Result | Promise<Result>,
  ): Promise<Result> {
    const own = this.#guard.ask(what, 'guest');
    return await this.#guest.run(transaction, own, () => step(transaction));
  }

  protected admit(open: PostgresQueryable, candidate: Candidate, what: string): Promise<void> {
    return this.#guard.admit(open, candidate, what, 'guest');
  }

  protected async record(open: PostgresQueryable, effect: Effect, what: string): Promise<boolean> {
    const { scope, key, seq, id } = effect;
    const { record, recorded } = this.#statements;
    const own = this.#guard.ask(what, 'guest');
    for (;;) {
      const added = await ask(open, own, record, [scope, key, seq, id]);
      if (added.rows.length === 1) return true;
      const found = await ask<{ id: string | null }>(open, own, recorded, [scope, key, seq]);
      const [row] = found.rows;
      if (row !== undefined) return judgeRepetition('postgres', effect, row.id);
      // It was forgotten between the two questions, so this one is new.
    }
  }

  protected async read(name: string, what: string): Promise<InstalledTerm | undefined> {
    return await this.#pool.withSession(what, async (session) => {
      const installed = await this.#guard.installed(session.client, name, what);
      session.end(true);
      return installed;
    });
  }

  protected async createTables(): Promise<void> {
    const what = `the migration of schema "${this.#options.schema}"`;
    const own = this.#guard.ask(what);
    await this.#transactions.run(what, async (client) => {
      // `IF NOT EXISTS` alone fails when two create at once, and needs the privilege to create even if all is there.
      await ask(client, own, 'SELECT pg_advisory_xact_lock($1)', [migrationLockKey]);
      const { rows } = await ask<{ migrated: boolean }>(client, own, this.#statements.isMigrated);
      if (rows[0]?.migrated !== true) await ask(client, own, this.migrationSql);
    });
  }

  protected async deleteEffects(olderThanMs: number, what: string): Promise<number> {
    const own = this.#guard.ask(what);
    const values = [olderThanMs, forgottenAtOnce];
    return await this.#transactions.run(what, async (client) => {
      const { rows } = await ask<{ count: number }>(client, own, this.#statements.forget, values);
      return rows[0]?.count ?? 0;
    });
  }

  protected end(): Promise<void> {
    return this.#pool.close();
  }
}
