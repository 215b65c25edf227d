import { type Ask, ask, type MysqlPhase, type MysqlQueryable } from '../../drivers/mysql/index.js';
import { RecordCorruptError, StoreRefusedError } from '../../errors/index.js';
import { refusalOf } from '../refusal.js';
import { type Candidate, type InstalledTerm, installedIn, judge } from '../rule.js';
import { assertEngine, assertFit } from './fitness.js';
import type { ResolvedOptions } from './options.js';
import type { FenceStatements, FitRow, TermRow } from './statements.js';
import { hexOf } from './statements.js';

/** The part of the fence that runs inside somebody's transaction and decides about a token. */
export class TermGuard {
  readonly #options: ResolvedOptions;
  readonly #statements: FenceStatements;
  /** Whether the tables were seen to have transactions. */
  #isTransactional = false;

  constructor(options: ResolvedOptions, statements: FenceStatements) {
    this.#options = options;
    this.#statements = statements;
  }

  /**
   * Lets the candidate pass if it is installed, or installs it, and keeps it valid until the transaction ends. In a
   * transaction of ours, at `READ COMMITTED`.
   *
   * It looks before it locks: an old owner is refused at once, and nobody who holds the row as one of several has to
   * hold it alone later. Two that did would wait for each other.
   *
   * @throws {StaleTermError} if it is neither.
   */
  async admit(target: MysqlQueryable, candidate: Candidate, what: string): Promise<void> {
    const own = this.ask(what);
    const verdict = judge(await this.installed(target, candidate.name, own), candidate);
    if (verdict === 'refuse') {
      throw refusalOf(candidate, await this.installed(target, candidate.name, own));
    }
    if (verdict === 'pass') {
      const { lockShared } = this.#statements;
      const locked = await this.#look(target, own, lockShared, candidate.name);
      const second = judge(locked, candidate);
      if (second === 'pass') return;
      if (second === 'refuse') throw refusalOf(candidate, locked);
    }
    await this.#install(target, own, candidate);
  }

  /**
   * The same in a transaction of the caller's, of any isolation. A look without a lock would fix its snapshot, perhaps
   * before the predecessor's last commit: so it locks first, and looks afterwards whether there was a snapshot already
   * that is older than the term.
   *
   * @throws {StaleTermError} as above. @throws {StoreRefusedError} if what the transaction reads is older than the term.
   */
  async admitGuest(target: MysqlQueryable, candidate: Candidate, what: string): Promise<void> {
    const own = this.ask(what, 'guest');
    const { lockShared, lockAlone } = this.#statements;
    const locked = await this.#look(target, own, lockShared, candidate.name);
    const verdict = judge(locked, candidate);
    if (verdict === 'refuse') throw refusalOf(candidate, locked);
    if (verdict === 'pass') {
      await this.#assertSnapshot(target, own, candidate.name, locked);
      return;
    }
    // Whoever holds the row now writes for an earlier owner. When this comes back, all of them have ended.
    const alone = await this.#look(target, own, lockAlone, candidate.name);
    if (judge(alone, candidate) === 'refuse') throw refusalOf(candidate, alone);
    await this.#assertSnapshot(target, own, candidate.name, alone);
    await this.#install(target, own, candidate);
  }

  async #install(target: MysqlQueryable, own: Ask, candidate: Candidate): Promise<void> {
    const { name, holderDigest } = candidate;
    const term = String(candidate.term);
    const values = [hexOf(name), term, holderDigest, term, term, holderDigest, term, term];
    await ask(target, own, this.#statements.install, values);
    const installed = await this.#look(target, own, this.#statements.lockAlone, name);
    if (judge(installed, candidate) !== 'pass') throw refusalOf(candidate, installed);
  }

  async #assertSnapshot(
    target: MysqlQueryable,
    own: Ask,
    name: string,
    newest: InstalledTerm | undefined,
  ): Promise<void> {
    const seen = await this.#look(target, own, this.#statements.read, name);
    if (seen?.term === newest?.term && seen?.holderDigest === newest?.holderDigest) return;
    throw new StoreRefusedError(
      'OLD_SNAPSHOT',
      `${own.what} was refused: the transaction has read before, and sees the data as it was before term ${newest?.term} was installed. Roll back, and check before the first read.`,
    );
  }

  /** What is installed in the view of the transaction. Waits for nobody. */
  async installed(
    target: MysqlQueryable,
    name: string,
    own: Ask,
  ): Promise<InstalledTerm | undefined> {
    return await this.#look(target, own, this.#statements.read, name);
  }

  /** @throws {StoreMisconfiguredError} if the server or its tables cannot keep what the fence promises. */
  async assertFit(target: MysqlQueryable, own: Ask): Promise<void> {
    const { rows } = await ask<FitRow>(target, own, this.#statements.fit);
    const [row] = rows;
    if (row !== undefined) assertFit(row, this.#options, own.what);
    await this.#assertTransactional(target, own);
  }

  async #look(
    target: MysqlQueryable,
    own: Ask,
    text: string,
    name: string,
  ): Promise<InstalledTerm | undefined> {
    await this.#assertTransactional(target, own);
    const { rows } = await ask<TermRow>(target, own, text, [hexOf(name)]);
    const [row] = rows;
    if (row === undefined) throw new RecordCorruptError(`${own.what} failed: no row came back.`);
    assertFit(row, this.#options, own.what);
    if (row.term === null) return undefined;
    return installedIn(row, name, `${this.#options.quotedDatabase}.fences`);
  }

  async #assertTransactional(target: MysqlQueryable, own: Ask): Promise<void> {
    if (this.#isTransactional) return;
    for (const text of this.#statements.showCreate) {
      const { rows } = await ask<Record<string, unknown>>(target, own, text);
      const [table = '', statement = ''] = Object.values(rows[0] ?? {}).map(String);
      assertEngine(statement, `${this.#options.quotedDatabase}.${table}`, own.what);
    }
    this.#isTransactional = true;
  }

  /** How a statement is asked that may wait for a lock. */
  ask(what: string, phase: MysqlPhase = 'transaction'): Ask {
    const { runtime, waitTimeoutMs, timeoutMs } = this.#options;
    // The server's own limit comes first, and brings a better answer.
    return { runtime, timeoutMs: waitTimeoutMs + timeoutMs, phase, what };
  }
}
