import {
  ask,
  askOutside,
  askPlainly,
  classifyMysqlError,
  deadlockCode,
  duplicateEntry,
  errnoOf,
  type MysqlConnection,
  type MysqlPool,
  MysqlPoolHandle,
  type MysqlQueryable,
  runTransaction,
} from '../../drivers/mysql/index.js';
import { type Known, requireKnown } from '../../errors/checks.js';
import { StoreRefusedError } from '../../errors/index.js';
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
  extends StoredFence<Connection, MysqlQueryable> {
  /**
   * As in {@link TransactionFence.check}, for any connection that is inside a transaction, or does not commit by itself.
   *
   * Not within a savepoint. At `REPEATABLE READ`, a transaction that has read before somebody else installed the term (its
   * `claim`) is refused with {@link StoreRefusedError} `OLD_SNAPSHOT`. A check that installs the term itself cannot find out
   * that its transaction has read before, and that may be older than the predecessor's last write: claim first. On MariaDB the session keeps the lowered idle limit of transactions.
   */
  check(transaction: MysqlQueryable, token: FencingToken): Promise<void>;
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

class FenceInMysql<Connection extends MysqlConnection>
  extends FenceInTables<Connection, MysqlQueryable>
  implements MysqlFence<Connection>
{
  readonly promises: FencePromises;
  readonly migrationSql: string;
  protected readonly title = 'the MySQL fence';
  readonly #options: ResolvedOptions;
  readonly #statements: FenceStatements;
  readonly #guard: TermGuard;
  readonly #guest: Guest;
  readonly #pool: MysqlPoolHandle<Connection>;

  constructor(source: string | MysqlPool<Connection>, options: ResolvedOptions) {
    super();
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

  protected async install(candidate: Candidate, what: string): Promise<void> {
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

  protected async runUnder<Result>(
    candidate: Candidate,
    what: string,
    work: (transaction: Connection) => Promise<Result>,
  ): Promise<Result> {
    return await this.#transact(what, async (connection) => {
      await this.#guard.admit(connection, candidate, what);
      return await this.#guest.host(connection, what, work);
    });
  }

  protected async inside<Result>(
    transaction: MysqlQueryable,
    what: string,
    step: (open: MysqlQueryable) => Result | Promise<Result>,
  ): Promise<Result> {
    const own = this.#guard.ask(what, 'guest');
    return await this.#guest.run(transaction, own, () => step(transaction));
  }

  protected async admit(open: MysqlQueryable, candidate: Candidate, what: string): Promise<void> {
    if (this.#guest.isHosted(open)) await this.#guard.admit(open, candidate, what);
    else await this.#guard.admitGuest(open, candidate, what);
  }

  protected async record(open: MysqlQueryable, effect: Effect, what: string): Promise<boolean> {
    const own = this.#guard.ask(what, 'guest');
    if (!this.#guest.isHosted(open)) await this.#guard.assertFit(open, own);
    const { record, recorded } = this.#statements;
    const place = [hexOf(effect.scope), hexOf(effect.key), String(effect.seq)];
    for (;;) {
      try {
        await askPlainly(open, own, record, [...place, hexOf(effect.id)]);
        return true;
      } catch (error) {
        if (errnoOf(error) !== duplicateEntry) throw classifyMysqlError(error, own.phase, own.what);
      }
      const { rows } = await ask<{ id: string }>(open, own, recorded, place);
      const [row] = rows;
      if (row !== undefined) return judgeRepetition('mysql', effect, textOf(row.id));
      // It was forgotten between the two questions, so this one is new.
    }
  }

  protected async read(name: string, what: string): Promise<InstalledTerm | undefined> {
    // In a transaction of its own: a session that does not commit by itself may have an old snapshot.
    return await this.#transact(what, (connection) =>
      this.#guard.installed(connection, name, this.#guard.ask(what)),
    );
  }

  protected async createTables(): Promise<void> {
    const { database, quotedDatabase } = this.#options;
    const what = `the migration of database "${database}"`;
    await this.#pool.withSession(what, async (session) => {
      const own = this.#guard.ask(what, 'statement');
      await askOutside(session, own, 'SET @tenure_guest = NULL');
      await migrate(session.connection, own, this.#statements, database, quotedDatabase);
      session.end(true);
    });
  }

  protected async deleteEffects(olderThanMs: number, what: string): Promise<number> {
    const text = this.#statements.forget(forgottenAtOnce);
    const own = this.#guard.ask(what);
    return await this.#transact(what, async (connection) => {
      const { affectedRows } = await ask(connection, own, text, [String(olderThanMs)]);
      return affectedRows;
    });
  }

  protected async end(): Promise<void> {
    await this.#pool.close();
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
}

function isDeadlock(error: unknown): boolean {
  return error instanceof StoreRefusedError && error.storeCode === deadlockCode;
}
