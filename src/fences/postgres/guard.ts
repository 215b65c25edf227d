import {
  type Ask,
  ask,
  type PostgresPhase,
  type PostgresQueryable,
  type PreparedGuard,
} from '../../drivers/postgres/index.js';
import { OptionError } from '../../errors/index.js';
import type { EndReason } from '../../leases/index.js';
import { endedOf, refusalOf } from '../refusal.js';
import { type Candidate, type InstalledTerm, installedIn, judge } from '../rule.js';
import { type Opening, Openings } from './opening.js';
import type { ResolvedOptions } from './options.js';
import type { FenceStatements } from './statements.js';

interface StoredTerm {
  readonly term: string;
  readonly holderDigest: string;
}

/** The part of the fence that runs inside somebody's transaction and decides about a token. */
export class TermGuard {
  readonly #options: ResolvedOptions;
  readonly #statements: FenceStatements;
  readonly #openings: Openings;

  /** @param areLimited see `Openings`. */
  constructor(options: ResolvedOptions, statements: FenceStatements, areLimited: boolean) {
    this.#options = options;
    this.#statements = statements;
    this.#openings = new Openings(options, statements, areLimited);
  }

  /**
   * Lets the candidate pass if it is installed, or installs it, and keeps it valid until the transaction ends.
   *
   * @throws {StaleTermError} if it is neither. @throws {LeaseEndedError} if the lease is in this database and does not stand.
   */
  async admit(
    client: PostgresQueryable,
    candidate: Candidate,
    what: string,
    phase: PostgresPhase = 'transaction',
  ): Promise<void> {
    const { name, term, holderDigest } = candidate;
    const own = this.ask(what, phase);
    await this.#assertStanding(client, candidate, own);
    const values = [
      name,
      term,
      holderDigest,
      this.#openings.lockKeyOf(name),
      this.#options.idleInTransactionTimeoutMs,
    ];
    if ((await ask(client, own, this.#statements.pass, values)).rows.length > 0) return;
    // Looks before it queues, so that an old owner is refused at once, however long the newest one's work takes.
    const before = await this.installed(client, name, what, phase);
    if (judge(before, candidate) !== 'refuse') {
      if (phase === 'guest') await this.#assertReadsTheNewest(client, own);
      if ((await ask(client, own, this.#statements.install, values)).rows.length > 0) return;
    }
    throw refusalOf(candidate, await this.installed(client, name, what, phase));
  }

  /**
   * A transaction with one snapshot for all of its statements may have taken it before the predecessor's last commit, and
   * would go on reading what stood there then.
   */
  async #assertReadsTheNewest(client: PostgresQueryable, own: Ask): Promise<void> {
    const { rows } = await ask<{ isolation: string }>(client, own, this.#statements.isolation);
    const isolation = rows[0]?.isolation;
    if (isolation === 'read committed' || isolation === 'read uncommitted') return;
    throw new OptionError(
      'transaction',
      isolation,
      'has a snapshot that may be older than the last write of the predecessor, and the token is not installed yet',
      'call fence.claim(token) before it begins',
    );
  }

  /**
   * What goes with the `BEGIN` of a transaction of the fence's own, so that a token that is installed already costs no round
   * trip. `undefined`: the lease is to be looked at first.
   */
  atBegin(candidate: Candidate): Opening | undefined {
    return this.#options.leases === undefined ? this.#openings.of(candidate) : undefined;
  }

  /**
   * What goes with a statement that is a transaction of its own. It does not look at the lease, and the statement may read
   * what is older than its lock, so that the term must have been installed before: `undefined` if that is not known.
   */
  atOnce(candidate: Candidate): PreparedGuard | undefined {
    return this.#options.leases === undefined ? this.#openings.guardOf(candidate) : undefined;
  }

  /** Something was committed under the candidate: it is installed. */
  committed(candidate: Candidate): void {
    this.#openings.committed(candidate);
  }

  /** A transaction was refused at its begin since its session has other limits. */
  setLimits(): void {
    this.#openings.setLimits();
  }

  /** First of all, since whoever takes the lease over locks it before anything of the fence's. */
  async #assertStanding(client: PostgresQueryable, candidate: Candidate, own: Ask): Promise<void> {
    const { leases } = this.#options;
    if (leases === undefined) return;
    const { name, term, holderDigest } = candidate;
    const text = `SELECT ${leases.quotedSchema}.stands($1, $2, $3, $4) AS reason`;
    const values = [leases.namespace, name, term, holderDigest];
    const { rows } = await ask<{ reason: EndReason | null }>(client, own, text, values);
    const reason = rows[0]?.reason ?? undefined;
    if (reason !== undefined) throw endedOf(candidate, reason);
  }

  /** What is committed for a name (or written by this very transaction). Waits for nobody. */
  async installed(
    client: PostgresQueryable,
    name: string,
    what: string,
    phase: PostgresPhase = 'transaction',
  ): Promise<InstalledTerm | undefined> {
    const { runtime, timeoutMs, quotedSchema } = this.#options;
    const own = { runtime, timeoutMs, phase, what };
    const { rows } = await ask<StoredTerm>(client, own, this.#statements.read, [name]);
    const [row] = rows;
    return row === undefined ? undefined : installedIn(row, name, `${quotedSchema}.fences`);
  }

  /** How a statement is asked that may wait for a lock. */
  ask(what: string, phase: PostgresPhase = 'transaction'): Ask {
    const { runtime, waitTimeoutMs, timeoutMs } = this.#options;
    // The server's own limit comes first, and brings a better answer.
    return { runtime, timeoutMs: waitTimeoutMs + timeoutMs, phase, what };
  }
}
