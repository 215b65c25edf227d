import { validateName } from '../../coordinators/index.js';
import {
  type Ask,
  ask,
  migrationLockKey,
  type PostgresClient,
  type PostgresPhase,
  type PostgresPool,
  PostgresPoolHandle,
  type PostgresQueryable,
  runTransaction,
  type TransactionSteps,
} from '../../drivers/postgres/index.js';
import { type Known, requireKnown } from '../../errors/checks.js';
import { ClosedError, StoreRefusedError } from '../../errors/index.js';
import type { FencePromises, FencingToken, TransactionFence } from '../contract.js';
import {
  type Candidate,
  type Effect,
  forgottenAtOnce,
  judgeRepetition,
  validateAge,
  validateEffect,
  validateToken,
  validateWork,
} from '../rule.js';
import { TermGuard } from './guard.js';
import { Guest } from './guest.js';
import type { Opening } from './opening.js';
import { type PostgresFenceOptions, type ResolvedOptions, resolveOptions } from './options.js';
import {
  type FenceStatements,
  fenceStatements,
  migrationSql,
  notInstalled,
  otherIsolation,
  otherLimits,
} from './statements.js';

/** A fence whose terms live in tables beside the data it guards. See {@link postgresFence}. */
export interface PostgresFence<Client extends PostgresClient = PostgresClient>
  extends TransactionFence<Client> {
  /**
   * As in {@link TransactionFence.check}, for any client that is inside a transaction.
   *
   * Not within a savepoint: rolling back to it would let go of the term. In `REPEATABLE READ` or `SERIALIZABLE` a race
   * with a claim ends in {@link StoreRefusedError} `40001`, and a token that is not installed yet is refused with
   * {@link OptionError}: claim it first. In `READ COMMITTED` a race ends in a wait.
   */
  check(transaction: PostgresQueryable, token: FencingToken): Promise<void>;
  recordOnce(
    transaction: PostgresQueryable,
    scope: string,
    key: string,
    seq: number,
    id: string,
  ): Promise<boolean>;
  /** The SQL that `migrate` runs, for a migration tool of your own. */
  readonly migrationSql: string;
  /**
   * Creates the schema and the tables unless they are there. Safe to call at every start, by many processes at once.
   *
   * @throws {StoreMisconfiguredError} if they are missing and the role may not create them.
   */
  migrate(): Promise<void>;
  /**
   * Deletes up to 10 000 effects that were recorded more than `olderThanMs` ago (server's clock) and returns how many
   * it deleted: call it until it returns 0. Keep what can still be delivered again.
   */
  forgetEffects(olderThanMs: number): Promise<number>;
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

/** Named, since a role or a database may have another default, in which races end in errors. */
const beginCommitted = 'BEGIN ISOLATION LEVEL READ COMMITTED';

class FenceInPostgres<Client extends PostgresClient> implements PostgresFence<Client> {
  readonly promises: FencePromises = {
    resource: 'postgres',
    atomicWithEffect: true,
    durability: 'crash',
    writersOfOneTerm: 'concurrent',
  };
  readonly migrationSql: string;
  readonly #options: ResolvedOptions;
  readonly #statements: FenceStatements;
  readonly #guard: TermGuard;
  readonly #guest: Guest;
  readonly #pool: PostgresPoolHandle<Client>;
  /** Whether some session here has another isolation by default. */
  #namesIsolation = false;
  #closing: Promise<void> | undefined;

  constructor(source: string | PostgresPool<Client>, options: ResolvedOptions) {
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
  }

  async claim(token: FencingToken): Promise<void> {
    const candidate = this.#accept(token);
    const what = `the claim of "${candidate.name}"`;
    // The pool may be the user's, whose limits are too short for this wait. What is waited for is locks.
    const limits = `SET LOCAL lock_timeout = ${this.#options.waitTimeoutMs}; SET LOCAL statement_timeout = 0`;
    await this.#transact(what, (client) => this.#guard.admit(client, candidate, what), {
      begin: `${beginCommitted}; ${limits}`,
    });
  }

  async check(transaction: PostgresQueryable, token: FencingToken): Promise<void> {
    await this.#guest.run(transaction, this.#ask('a check of a token', 'guest'), async () => {
      const candidate = this.#accept(token);
      await this.#guard.admit(transaction, candidate, `the check of "${candidate.name}"`, 'guest');
    });
  }

  async transaction<Result>(
    token: FencingToken,
    work: (transaction: Client) => Promise<Result>,
  ): Promise<Result> {
    const candidate = this.#accept(token);
    validateWork(work);
    const what = `the transaction under "${candidate.name}"`;
    let hasBegun = false;
    const hosted = (client: Client) => {
      hasBegun = true;
      return this.#guest.host(client, work);
    };
    const opening = this.#guard.atBegin(candidate);
    if (opening !== undefined) {
      try {
        return await this.#transact(what, hosted, this.#stepsOf(opening));
      } catch (error) {
        if (hasBegun || !this.#mayBeAdmitted(error)) throw error;
      }
    }
    return await this.#transact(what, async (client) => {
      await this.#guard.admit(client, candidate, what);
      return await hosted(client);
    });
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

  async recordOnce(
    transaction: PostgresQueryable,
    scope: string,
    key: string,
    seq: number,
    id: string,
  ): Promise<boolean> {
    const own = this.#ask('the record of an effect', 'guest');
    return await this.#guest.run(transaction, own, async () => {
      this.#assertOpen();
      validateEffect(scope, key, seq, id);
      return await this.#record(transaction, own, { scope, key, seq, id });
    });
  }

  async #record(transaction: PostgresQueryable, own: Ask, effect: Effect): Promise<boolean> {
    const { scope, key, seq, id } = effect;
    const { record, recorded } = this.#statements;
    for (;;) {
      const added = await ask(transaction, own, record, [scope, key, seq, id]);
      if (added.rows.length === 1) return true;
      const found = await ask<{ id: string | null }>(transaction, own, recorded, [scope, key, seq]);
      const [row] = found.rows;
      if (row !== undefined) return judgeRepetition('postgres', effect, row.id);
      // It was forgotten between the two questions, so this one is new.
    }
  }

  async installedTerm(name: string): Promise<number | undefined> {
    this.#assertOpen();
    validateName(name);
    const what = `reading the term of "${name}"`;
    return await this.#pool.withSession(what, async (session) => {
      const installed = await this.#guard.installed(session.client, name, what);
      session.end(true);
      return installed?.term;
    });
  }

  async migrate(): Promise<void> {
    this.#assertOpen();
    const what = `the migration of schema "${this.#options.schema}"`;
    const own = this.#ask(what);
    await this.#transact(what, async (client) => {
      // `IF NOT EXISTS` alone fails when two create at once, and needs the privilege to create even if all is there.
      await ask(client, own, 'SELECT pg_advisory_xact_lock($1)', [migrationLockKey]);
      const { rows } = await ask<{ migrated: boolean }>(client, own, this.#statements.isMigrated);
      if (rows[0]?.migrated !== true) await ask(client, own, this.migrationSql);
    });
  }

  async forgetEffects(olderThanMs: number): Promise<number> {
    this.#assertOpen();
    validateAge(olderThanMs);
    const what = 'forgetting old effects';
    const values = [olderThanMs, forgottenAtOnce];
    return await this.#transact(what, async (client) => {
      const { forget } = this.#statements;
      const { rows } = await ask<{ count: number }>(client, this.#ask(what), forget, values);
      return rows[0]?.count ?? 0;
    });
  }

  async close(): Promise<void> {
    this.#closing ??= this.#pool.close();
    await this.#closing;
  }

  #transact<Result>(
    what: string,
    body: (client: Client) => Promise<Result>,
    { begin, mark, prepared }: Omit<TransactionSteps, 'ask'> = { begin: beginCommitted },
  ): Promise<Result> {
    const { runtime, timeoutMs } = this.#options;
    const steps = { begin, mark, prepared, ask: { runtime, timeoutMs, what } };
    return this.#pool.withSession(what, (session) => runTransaction(session, steps, body));
  }

  #ask(what: string, phase: PostgresPhase = 'transaction'): Ask {
    const { runtime, waitTimeoutMs, timeoutMs } = this.#options;
    // The server's own limit comes first, and brings a better answer.
    return { runtime, timeoutMs: waitTimeoutMs + timeoutMs, phase, what };
  }

  #accept(token: FencingToken): Candidate {
    this.#assertOpen();
    return validateToken('postgres', token);
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new ClosedError('the PostgreSQL fence');
  }
}
