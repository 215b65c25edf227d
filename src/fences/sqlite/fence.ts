import { validateName } from '../../coordinators/index.js';
import { sqlitePath } from '../../drivers/sqlite/index.js';
import type { FencePromises, FencingToken, TransactionFence } from '../contract.js';
import { corruptTerm } from '../corrupt.js';
import { refusalOf } from '../refusal.js';
import {
  type Candidate,
  forgottenAtOnce,
  type InstalledTerm,
  judge,
  judgeRepetition,
  termIn,
  validateAge,
  validateEffect,
  validateToken,
  validateWork,
} from '../rule.js';
import type { FenceConnection } from './connection.js';
import { Guest } from './guest.js';
import { requireHandle, type SqliteHandle } from './handle.js';
import { type ResolvedOptions, resolveOptions, type SqliteFenceOptions } from './options.js';
import { FenceSession } from './session.js';
import { FileSource, GuestSource } from './source.js';
import * as statements from './statements.js';
import type { SqliteFenceTransaction } from './transaction.js';
import { closedFence } from './turns.js';

/** What `check` and `recordOnce` take: a transaction of the fence, or a database on which you ran `BEGIN IMMEDIATE`. */
export type SqliteGuarded = SqliteFenceTransaction | SqliteHandle;

/** A fence whose terms live in the file of the data it guards. See {@link sqliteFence}. */
export interface SqliteFence extends TransactionFence<SqliteFenceTransaction> {
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
  recordOnce(
    transaction: SqliteGuarded,
    scope: string,
    key: string,
    seq: number,
    id: string,
  ): Promise<boolean>;
  /** The SQL that `migrate` runs, for a migration tool of your own. */
  readonly migrationSql: string;
  /** Creates the two tables unless they are there. Safe to call at every start, by many processes at once. */
  migrate(): Promise<void>;
  /**
   * Deletes up to 10 000 effects that were recorded more than `olderThanMs` ago (this machine's wall clock) and returns
   * how many it deleted: call it until it returns 0. Keep what can still be delivered again.
   */
  forgetEffects(olderThanMs: number): Promise<number>;
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

class FenceInSqlite implements SqliteFence {
  readonly promises: FencePromises = {
    resource: 'sqlite',
    atomicWithEffect: true,
    durability: 'crash',
    writersOfOneTerm: 'serial',
  };
  readonly migrationSql = statements.migrationSql;
  readonly #session: FenceSession;
  readonly #guest = new Guest();
  #closing: Promise<void> | undefined;

  constructor(source: string | URL | SqliteHandle, options: ResolvedOptions) {
    const isPlace = typeof source === 'string' || source instanceof URL;
    this.#session = new FenceSession(
      isPlace
        ? new FileSource(sqlitePath(source))
        : new GuestSource(requireHandle('source', source)),
      options,
    );
  }

  async claim(token: FencingToken): Promise<void> {
    const candidate = this.#accept(token);
    const what = `the claim of "${candidate.name}"`;
    await this.#session.transact(what, ({ connection }) => admit(connection, candidate, what));
  }

  async check(transaction: SqliteGuarded, token: FencingToken): Promise<void> {
    this.#guest.run(transaction, 'the check of a token', (connection) => {
      const candidate = this.#accept(token);
      admit(connection, candidate, `the check of "${candidate.name}"`);
    });
  }

  async transaction<Result>(
    token: FencingToken,
    work: (transaction: SqliteFenceTransaction) => Promise<Result> | Result,
  ): Promise<Result> {
    const candidate = this.#accept(token);
    validateWork(work);
    const what = `the transaction under "${candidate.name}"`;
    return await this.#session.transact(what, (transaction) => {
      admit(transaction.connection, candidate, what);
      return work(transaction);
    });
  }

  async recordOnce(
    transaction: SqliteGuarded,
    ...effect: [scope: string, key: string, seq: number, id: string]
  ): Promise<boolean> {
    const what = 'the record of an effect';
    return this.#guest.run(transaction, what, (connection) => {
      this.#assertOpen();
      validateEffect(...effect);
      const [scope, key, seq, id] = effect;
      const row = connection.get(what, statements.recorded, scope, key, String(seq));
      if (row !== undefined)
        return judgeRepetition('sqlite', { scope, key, seq, id }, String(row.id));
      connection.run(what, statements.record, scope, key, String(seq), id);
      return true;
    });
  }

  async installedTerm(name: string): Promise<number | undefined> {
    this.#assertOpen();
    validateName(name);
    const what = `reading the term of "${name}"`;
    return await this.#session.ask(what, (connection) => installed(connection, name, what)?.term);
  }

  async migrate(): Promise<void> {
    this.#assertOpen();
    const what = 'the migration of the fence';
    await this.#session.transact(what, ({ connection }) => {
      const isThere = Number(connection.get(what, statements.isMigrated)?.migrated) === 1;
      if (!isThere) connection.exec(this.migrationSql, 'transaction', what);
    });
  }

  async forgetEffects(olderThanMs: number): Promise<number> {
    this.#assertOpen();
    validateAge(olderThanMs);
    const what = 'forgetting old effects';
    const values = [String(olderThanMs), String(forgottenAtOnce)];
    return await this.#session.transact(what, ({ connection }) =>
      connection.run(what, statements.forget, ...values),
    );
  }

  async close(): Promise<void> {
    this.#closing ??= this.#session.close();
    await this.#closing;
  }

  #accept(token: FencingToken): Candidate {
    this.#assertOpen();
    return validateToken('sqlite', token);
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw closedFence();
  }
}

/** Lets the candidate pass, or installs it. The transaction has the write lock, so nobody else can until it ends. */
function admit(connection: FenceConnection, candidate: Candidate, what: string): void {
  const { name, term, holderDigest } = candidate;
  const before = installed(connection, name, what);
  const verdict = judge(before, candidate);
  if (verdict === 'refuse') throw refusalOf(candidate, before);
  if (verdict === 'install')
    connection.run(what, statements.install, name, String(term), holderDigest);
}

function installed(
  connection: FenceConnection,
  name: string,
  what: string,
): InstalledTerm | undefined {
  const row = connection.get(what, statements.read, name);
  if (row === undefined) return undefined;
  const term = termIn(row.term);
  if (term !== undefined) return { term, holderDigest: String(row.holderDigest) };
  throw corruptTerm(`the row of "${name}" in tenure_fences`);
}
