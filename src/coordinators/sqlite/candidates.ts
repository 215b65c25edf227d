import type { SqliteRow, SqliteTransaction } from '../../drivers/sqlite/index.js';
import type { EnrollRequest, Standing } from '../candidates.js';
import { Holder } from '../holder.js';
import { compareCandidates } from '../order.js';
import type { StoredCandidate } from '../rules/candidate.js';

const readEntries = 'SELECT * FROM candidate WHERE namespace = ? AND name = ? AND deadline_ms > ?';
const readEntry =
  'SELECT standing, since, since_ms, refresh FROM candidate WHERE namespace = ? AND name = ? AND holder = ? AND deadline_ms > ?';
const writeEntry = `INSERT OR REPLACE INTO candidate VALUES (${Array(11).fill('?').join(', ')})`;
const deleteEntry = 'DELETE FROM candidate WHERE namespace = ? AND name = ? AND holder = ?';
const deleteOver = 'DELETE FROM candidate WHERE namespace = ? AND deadline_ms <= ?';
const readNamesOf =
  "SELECT name FROM candidate WHERE namespace = ? AND holder = ? AND standing = 'waiting' AND deadline_ms > ?";
const readNamesake =
  'SELECT 1 AS found FROM candidate WHERE namespace = ? AND name = ? AND id = ? AND holder <> ? AND refresh > ? AND deadline_ms > ? LIMIT 1';

/** The candidates of a namespace during one step; those that were not refreshed in time do not show. */
export class SqliteCandidates {
  readonly #transaction: SqliteTransaction;
  readonly #namespace: string;
  readonly #nextEnrollment: () => number;

  constructor(transaction: SqliteTransaction, namespace: string, nextEnrollment: () => number) {
    this.#transaction = transaction;
    this.#namespace = namespace;
    this.#nextEnrollment = nextEnrollment;
  }

  enroll(request: EnrollRequest, nowMs: number, wallMs: number): boolean {
    const { name, holder, standing, preference, metadata } = request;
    const enrollment = this.#nextEnrollment();
    this.#transaction.run(deleteOver, this.#namespace, nowMs);
    const key = [this.#namespace, name, holder.wire] as const;
    const before = this.#transaction.get(readEntry, ...key, nowMs);
    const stands = before?.standing === standing ? before : { since: enrollment, since_ms: wallMs };
    this.#transaction.run(
      writeEntry,
      ...key,
      holder.id,
      standing,
      preference,
      stands.since ?? enrollment,
      stands.since_ms ?? wallMs,
      nowMs + request.ttlMs,
      enrollment,
      metadata ?? null,
    );
    return before !== undefined && this.#hasLaterNamesake(name, holder, Number(before.refresh));
  }

  #hasLaterNamesake(name: string, holder: Holder, refresh: number): boolean {
    const values = [this.#namespace, name, holder.id, holder.wire, refresh] as const;
    return this.#transaction.get(readNamesake, ...values, this.#transaction.nowMs) !== undefined;
  }

  withdraw(name: string, holder: Holder): void {
    this.#transaction.run(deleteEntry, this.#namespace, name, holder.wire);
  }

  /** Who waits in the order in which they are called, then the rest. */
  of(name: string): StoredCandidate[] {
    const rows = this.#transaction.all(readEntries, this.#namespace, name, this.#transaction.nowMs);
    return rows.flatMap((row) => candidateOf(row) ?? []).sort(compareCandidates);
  }

  waitingFor(name: string): StoredCandidate[] {
    return this.of(name).filter(({ standing }) => standing === 'waiting');
  }

  placeOf(name: string, holder: Holder): number | undefined {
    const index = this.waitingFor(name).findIndex((one) => one.holder.equals(holder));
    return index < 0 ? undefined : index;
  }

  /** The names that this holder waits for. */
  namesOf(holder: Holder): string[] {
    const values = [this.#namespace, holder.wire, this.#transaction.nowMs] as const;
    return this.#transaction.all(readNamesOf, ...values).map(({ name }) => String(name));
  }
}

function candidateOf(row: SqliteRow): StoredCandidate | undefined {
  const holder = Holder.parse(String(row.holder));
  if (holder === undefined) return undefined;
  return {
    holder,
    id: holder.id,
    digest: holder.digest,
    standing: row.standing as Standing,
    preference: Number(row.preference),
    since: Number(row.since),
    sinceMs: Number(row.since_ms),
    deadlineMs: Number(row.deadline_ms),
    refresh: Number(row.refresh),
    metadata: typeof row.metadata === 'string' ? row.metadata : undefined,
  };
}
