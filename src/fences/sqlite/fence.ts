import { sqlitePath } from '../../drivers/sqlite/index.js';
import type { FencePromises, FencingToken, StoredFence } from '../contract.js';
import { FenceInTables } from '../fence-in-tables.js';
import { refusalOf } from '../refusal.js';
import {
  type Candidate,
  type Effect,
  forgottenAtOnce,
  type InstalledTerm,
  installedIn,
  judge,
  judgeRepetition,
} from '../rule.js';
import type { FenceConnection } from './connection.js';
import { Guest } from './guest.js';
import { requireHandle, type SqliteHandle } from './handle.js';
import { type ResolvedOptions, resolveOptions, type SqliteFenceOptions } from './options.js';
import { FenceSession } from './session.js';
import { FileSource, GuestSource } from './source.js';
import * as statements from './statements.js';
import type { SqliteFenceTransaction } from './transaction.js';

/** What `check` and `recordOnce` take: a transaction of the fence, or a database on which you ran `BEGIN IMMEDIATE`. */
export type SqliteGuarded = SqliteFenceTransaction | SqliteHandle;

/** A fence whose terms live in the file of the data it guards. See {@link sqliteFence}. */
export interface SqliteFence extends StoredFence<SqliteFenceTransaction, SqliteGuarded> {
  /**
   * As in {@link TransactionFence.check}, for any connection to the file. It takes the file's write lock, if the
   * transaction began without.
   *
   * @throws {UnreachableError} if another connection has the lock, and the connection's own `busy_timeout` is over.
   * {@link StoreRefusedError} `SQLITE_BUSY_SNAPSHOT` if the transaction has read something older before.
   * {@link StoreMisconfiguredError} if `PRAGMA foreign_keys` is off, by which SQLite would be kept from committing after a
   * refusal. That one failure rolls back what was written before, and cannot keep you from writing on: do not swallow it.
   */
  check(transaction: SqliteGuarded, token: FencingToken): Promise<void>;
  transaction<Result>(
    token: FencingToken,
    work: (transaction: SqliteFenceTransaction) => Promise<Result> | Result,
  ): Promise<Result>;
}

/**
 * A fence in a SQLite file, for the processes of one machine: the term is checked in the transaction that writes, and both
 * commit together or not at all. Needs Node 22.13 or later, or the package `libsql`; or a database of your own.
 *
 * SQLite has one writer at a time. A process that is stopped inside a transaction keeps all others from writing until it
 * goes on, or is ended: then nothing can have been written meanwhile, and the claim that waited says who it is.
 *
 * @param source the path of the file, which is opened at the first use with `journal_mode = WAL`, `synchronous = FULL` and
 * `foreign_keys = ON`; or a database that you have opened, whose `synchronous` is raised to `FULL`, and which the fence
 * never closes. All that is sent on it while a transaction of the fence is open belongs to that transaction, and is rolled back
 * with it; what its work sends there directly, not through the transaction it is given, is not guarded once that has ended. So
 * give the fence a connection of its own if other code uses yours.
 * @throws {OptionError} if the path, the database or an option is not usable. Nothing is opened yet.
 */
export function sqliteFence(
  source: string | URL | SqliteHandle,
  options: SqliteFenceOptions = {},
): SqliteFence {
  return new FenceInSqlite(source, resolveOptions(options));
}

class FenceInSqlite
  extends FenceInTables<SqliteFenceTransaction, SqliteGuarded, FenceConnection>
  implements SqliteFence
{
  readonly promises: FencePromises = {
    resource: 'sqlite',
    atomicWithEffect: true,
    durability: 'crash',
    writersOfOneTerm: 'serial',
  };
  readonly migrationSql = statements.migrationSql;
  protected readonly title = 'the SQLite fence';
  protected override readonly checking = 'the check of a token';
  readonly #session: FenceSession;
  readonly #guest = new Guest();

  constructor(source: string | URL | SqliteHandle, options: ResolvedOptions) {
    super();
    const isPlace = typeof source === 'string' || source instanceof URL;
    this.#session = new FenceSession(
      isPlace
        ? new FileSource(sqlitePath(source))
        : new GuestSource(requireHandle('source', source)),
      options,
    );
  }

  protected async install(candidate: Candidate, what: string): Promise<void> {
    await this.#session.transact(what, ({ connection }) => this.admit(connection, candidate, what));
  }

  protected async runUnder<Result>(
    candidate: Candidate,
    what: string,
    work: (transaction: SqliteFenceTransaction) => Promise<Result>,
  ): Promise<Result> {
    return await this.#session.transact(what, (transaction) => {
      this.admit(transaction.connection, candidate, what);
      return work(transaction);
    });
  }

  protected inside<Result>(
    transaction: SqliteGuarded,
    what: string,
    step: (connection: FenceConnection) => Result,
  ): Result {
    return this.#guest.run(transaction, what, step);
  }

  /** The transaction has the write lock, so nobody else can install anything until it ends. */
  protected admit(connection: FenceConnection, candidate: Candidate, what: string): void {
    const { name, term, holderDigest } = candidate;
    const before = installed(connection, name, what);
    const verdict = judge(before, candidate);
    if (verdict === 'refuse') throw refusalOf(candidate, before);
    if (verdict === 'install')
      connection.run(what, statements.install, name, String(term), holderDigest);
  }

  protected record(connection: FenceConnection, effect: Effect, what: string): boolean {
    const { scope, key, seq, id } = effect;
    const row = connection.get(what, statements.recorded, scope, key, String(seq));
    if (row !== undefined) return judgeRepetition('sqlite', effect, String(row.id));
    connection.run(what, statements.record, scope, key, String(seq), id);
    return true;
  }

  protected async read(name: string, what: string): Promise<InstalledTerm | undefined> {
    return await this.#session.ask(what, (connection) => installed(connection, name, what));
  }

  protected async createTables(): Promise<void> {
    const what = 'the migration of the fence';
    await this.#session.transact(what, ({ connection }) => {
      const isThere = Number(connection.get(what, statements.isMigrated)?.migrated) === 1;
      if (!isThere) connection.exec(this.migrationSql, 'transaction', what);
    });
  }

  protected async deleteEffects(olderThanMs: number, what: string): Promise<number> {
    const values = [String(olderThanMs), String(forgottenAtOnce)];
    return await this.#session.transact(what, ({ connection }) =>
      connection.run(what, statements.forget, ...values),
    );
  }

  protected async end(): Promise<void> {
    await this.#session.close();
  }
}

function installed(
  connection: FenceConnection,
  name: string,
  what: string,
): InstalledTerm | undefined {
  const row = connection.get(what, statements.read, name);
  if (row === undefined) return undefined;
  const { term, holderDigest } = row;
  return installedIn({ term, holderDigest }, name, 'tenure_fences');
}
