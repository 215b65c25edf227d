import { validateName } from '../../coordinators/index.js';
import {
  type Ask,
  ask,
  askOutside,
  askPlainly,
  classifyMysqlError,
  deadlockCode,
  duplicateEntry,
  errnoOf,
  type MysqlConnection,
  type MysqlPhase,
  type MysqlPool,
  MysqlPoolHandle,
  type MysqlQueryable,
  runTransaction,
} from '../../drivers/mysql/index.js';
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
import { migrate } from './migration.js';
import { type MysqlFenceOptions, type ResolvedOptions, resolveOptions } from './options.js';
import {
  type FenceStatements,
  fenceStatements,
  hexOf,
  migrationSql,
  textOf,
} from './statements.js';

/** A fence whose terms live in tables beside the data it guards. See {@link mysqlFence}. */
export interface MysqlFence<Connection extends MysqlConnection = MysqlConnection>
  extends TransactionFence<Connection> {
  /**
   * As in {@link TransactionFence.check}, for any connection that is inside a transaction, or does not commit by itself.
   *
   * Not within a savepoint. At `REPEATABLE READ`, a transaction that has read before somebody else installed the term (its
   * `claim`) is refused with {@link StoreRefusedError} `OLD_SNAPSHOT`. A check that installs the term itself cannot find out
   * that its transaction has read before, and that may be older than the predecessor's last write: claim first. On MariaDB the session keeps the lowered idle limit of transactions.
   */
  check(transaction: MysqlQueryable, token: FencingToken): Promise<void>;
  recordOnce(
    transaction: MysqlQueryable,
    scope: string,
    key: string,
    seq: number,
    id: string,
  ): Promise<boolean>;
  /** The SQL that `migrate` runs, for a migration tool of your own. */
  readonly migrationSql: string;
  /**
   * Creates the database and the tables unless they are there. Safe to call at every start, by many processes at once.
   *
   * @throws {StoreMisconfiguredError} if they are missing and the account may not create them.
   */
  migrate(): Promise<void>;
  /**
   * Deletes up to 10 000 effects that were recorded more than `olderThanMs` ago (server's clock) and returns how many
   * it deleted: call it until it returns 0. Keep what can still be delivered again.
   */
  forgetEffects(olderThanMs: number): Promise<number>;
}

/**
 * A fence in MariaDB or MySQL: the term is checked in the transaction that writes, and both commit together or not at
 * all. All writers have to use one server, with tables of InnoDB.
 *
 * @param source a URL, for which a small pool of our own is opened on first use (needs the package `mysql2`), or your own
 * pool of `mysql2/promise`, which is never closed by the fence.
 * @throws {OptionError} if the URL, the pool or an option is not usable. Nothing is connected yet.
 */
export function mysqlFence<Connection extends MysqlConnection = MysqlConnection>(
  source: string | MysqlPool<Connection>,
  options: MysqlFenceOptions = {},
): MysqlFence<Connection> {
  requireKnown('options', options, optionKeys);
  return new FenceInMysql(source, resolveOptions(options, typeof source === 'string'));
}

const optionKeys: Known<MysqlFenceOptions> = {
  database: true,
  idleInTransactionTimeoutMs: true,
  waitTimeoutMs: true,
  timeoutMs: true,
  maxConnections: true,
  durability: true,
  runtime: true,
};

class FenceInMysql<Connection extends MysqlConnection> implements MysqlFence<Connection> {
  readonly promises: FencePromises;
  readonly migrationSql: string;
  readonly #options: ResolvedOptions;
  readonly #statements: FenceStatements;
  readonly #guard: TermGuard;
  readonly #guest: Guest;
  readonly #pool: MysqlPoolHandle<Connection>;
  #closing: Promise<void> | undefined;

  constructor(source: string | MysqlPool<Connection>, options: ResolvedOptions) {
    this.#options = options;
    this.promises = {
      resource: 'mysql',
      atomicWithEffect: true,
      durability: options.durability,
      writersOfOneTerm: 'concurrent',
      limits:
        'All writers use one server, and tables of InnoDB. Outside MariaDB no limit ends a transaction of the caller that stands idle.',
    };
    const idleSeconds = options.idleInTransactionTimeoutMs / 1000;
    this.#statements = fenceStatements(options.quotedDatabase, idleSeconds);
    this.#guard = new TermGuard(options, this.#statements);
    this.#guest = new Guest(this.#statements);
    this.migrationSql = migrationSql(options.database);
    this.#pool = new MysqlPoolHandle(source, options);
  }

  async claim(token: FencingToken): Promise<void> {
    const candidate = this.#accept(token);
    const what = `the claim of "${candidate.name}"`;
    const { runtime, waitTimeoutMs } = this.#options;
    const startedAtMs = runtime.now().monotonicMs;
    for (;;) {
      try {
        const waitSeconds = waitTimeoutMs / 1000;
        await this.#transact(what, (on) => this.#guard.admit(on, candidate, what), waitSeconds);
        return;
      } catch (error) {
        // Nothing was written, and to claim again is harmless.
        const isLate = runtime.now().monotonicMs - startedAtMs >= waitTimeoutMs;
        if (isLate || !isDeadlock(error)) throw error;
      }
    }
  }

  async check(transaction: MysqlQueryable, token: FencingToken): Promise<void> {
    await this.#guest.run(transaction, this.#ask('a check of a token', 'guest'), async () => {
      const candidate = this.#accept(token);
      const what = `the check of "${candidate.name}"`;
      if (this.#guest.isHosted(transaction)) await this.#guard.admit(transaction, candidate, what);
      else await this.#guard.admitGuest(transaction, candidate, what);
    });
  }

  async transaction<Result>(
    token: FencingToken,
    work: (transaction: Connection) => Promise<Result>,
  ): Promise<Result> {
    const candidate = this.#accept(token);
    validateWork(work);
    const what = `the transaction under "${candidate.name}"`;
    return await this.#transact(what, async (connection) => {
      await this.#guard.admit(connection, candidate, what);
      return await this.#guest.host(connection, what, work);
    });
  }

  async recordOnce(
    transaction: MysqlQueryable,
    scope: string,
    key: string,
    seq: number,
    id: string,
  ): Promise<boolean> {
    const own = this.#ask('the record of an effect', 'guest');
    return await this.#guest.run(transaction, own, async () => {
      this.#assertOpen();
      validateEffect(scope, key, seq, id);
      if (!this.#guest.isHosted(transaction)) await this.#guard.assertFit(transaction, own);
      return await this.#record(transaction, own, { scope, key, seq, id });
    });
  }

  async #record(transaction: MysqlQueryable, own: Ask, effect: Effect): Promise<boolean> {
    const { record, recorded } = this.#statements;
    const place = [hexOf(effect.scope), hexOf(effect.key), String(effect.seq)];
    for (;;) {
      try {
        await askPlainly(transaction, own, record, [...place, hexOf(effect.id)]);
        return true;
      } catch (error) {
        if (errnoOf(error) !== duplicateEntry) throw classifyMysqlError(error, own.phase, own.what);
      }
      const { rows } = await ask<{ id: string }>(transaction, own, recorded, place);
      const [row] = rows;
      if (row !== undefined) return judgeRepetition('mysql', effect, textOf(row.id));
      // It was forgotten between the two questions, so this one is new.
    }
  }

  async installedTerm(name: string): Promise<number | undefined> {
    this.#assertOpen();
    validateName(name);
    const what = `reading the term of "${name}"`;
    const own = this.#ask(what);
    // In a transaction of its own: a session that does not commit by itself may have an old snapshot.
    return await this.#transact(what, async (connection) => {
      return (await this.#guard.installed(connection, name, own))?.term;
    });
  }

  async migrate(): Promise<void> {
    this.#assertOpen();
    const { database, quotedDatabase } = this.#options;
    const what = `the migration of database "${database}"`;
    await this.#pool.withSession(what, async (session) => {
      const own = this.#ask(what, 'statement');
      await askOutside(session, own, 'SET @tenure_guest = NULL');
      await migrate(session.connection, own, this.#statements, database, quotedDatabase);
      session.end(true);
    });
  }

  async forgetEffects(olderThanMs: number): Promise<number> {
    this.#assertOpen();
    validateAge(olderThanMs);
    const what = 'forgetting old effects';
    const text = this.#statements.forget(forgottenAtOnce);
    return await this.#transact(what, async (connection) => {
      const { affectedRows } = await ask(connection, this.#ask(what), text, [String(olderThanMs)]);
      return affectedRows;
    });
  }

  async close(): Promise<void> {
    this.#closing ??= this.#pool.close();
    await this.#closing;
  }

  async #transact<Result>(
    what: string,
    body: (connection: Connection) => Promise<Result>,
    lockWaitSeconds?: number,
  ): Promise<Result> {
    const { runtime, timeoutMs } = this.#options;
    const { set, restore, hasCommitted } = this.#statements;
    const own = { runtime, timeoutMs, what };
    const steps = { set: set(lockWaitSeconds), restore, hasCommitted, ask: own };
    return await this.#pool.withSession(
      what,
      async (session) => await runTransaction(session, steps, body),
    );
  }

  #ask(what: string, phase: MysqlPhase = 'transaction'): Ask {
    const { runtime, waitTimeoutMs, timeoutMs } = this.#options;
    // The server's own limit comes first, and brings a better answer.
    return { runtime, timeoutMs: waitTimeoutMs + timeoutMs, phase, what };
  }

  #accept(token: FencingToken): Candidate {
    this.#assertOpen();
    return validateToken('mysql', token);
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new ClosedError('the MySQL fence');
  }
}

function isDeadlock(error: unknown): boolean {
  return error instanceof StoreRefusedError && error.storeCode === deadlockCode;
}
