import type { SqliteTransaction } from '../../drivers/sqlite/index.js';
import type { RenewRequest } from '../contract.js';
import { afterExpiry, type StoredRecord } from '../rules/record.js';
import { recordColumns, recordOf, rowValues } from './record.js';

const readRecord = `SELECT ${recordColumns} FROM lease WHERE namespace = ? AND name = ?`;
const readGroup = `SELECT ${recordColumns} FROM lease WHERE namespace = ? AND name_group = ?`;
const readNext = `SELECT ${recordColumns} FROM lease WHERE namespace = ? AND name > ? ORDER BY name LIMIT 8`;
const writeRecord = `INSERT OR REPLACE INTO lease VALUES (${Array(18).fill('?').join(', ')})`;
/** Compares and extends in one statement; what it does not match, `renewOne` tells apart. */
const extendLease = `UPDATE lease SET ttl_ms = ?, deadline_ms = ?, renewed_at_ms = ?, metadata = COALESCE(?, metadata)
  WHERE namespace = ? AND name = ? AND kind = 'lease' AND holder = ? AND term = ? AND deadline_ms > ? AND revoked_at_ms IS NULL`;
const deleteRecord = 'DELETE FROM lease WHERE namespace = ? AND name = ?';

/** A lease that expired, and when. */
export interface ExpiredTerm {
  readonly name: string;
  readonly term: number;
  readonly endReason: 'expired' | 'revoked';
  readonly endedAtMs: number;
}

/**
 * The records of a namespace during one step. A row whose time is over counts as what follows it, and stays as it is
 * until something else is written under the name, or it is swept.
 */
export class SqliteRecords {
  readonly #transaction: SqliteTransaction;
  readonly #namespace: string;
  readonly #noteExpired: (expired: ExpiredTerm) => void;
  readonly #noteSwept: (name: string) => void;
  /** Read once in a step: the rules ask several times. */
  readonly #known = new Map<string, StoredRecord | undefined>();

  constructor(
    transaction: SqliteTransaction,
    namespace: string,
    noteExpired: (expired: ExpiredTerm) => void,
    noteSwept: (name: string) => void,
  ) {
    this.#transaction = transaction;
    this.#namespace = namespace;
    this.#noteExpired = noteExpired;
    this.#noteSwept = noteSwept;
  }

  get(name: string): StoredRecord | undefined {
    if (this.#known.has(name)) return this.#known.get(name);
    const row = this.#transaction.get(readRecord, this.#namespace, name);
    return row && this.#take(name, recordOf(row));
  }

  set(name: string, record: StoredRecord): void {
    // The rules write neither of the others: a lock-delay follows from its lease, and what is foreign is left alone.
    if (record.kind === 'foreign' || record.kind === 'lock-delay') return;
    this.#transaction.run(writeRecord, ...rowValues(this.#namespace, name, record));
    this.#known.set(name, record);
  }

  /**
   * The path every holder takes all day: extends the lease if it is still the caller's, without reading it first.
   *
   * @returns whether it did.
   */
  extend({ name, holder, term, ttlMs, metadata }: RenewRequest): boolean {
    const { nowMs, wallMs } = this.#transaction;
    const changes = [ttlMs, nowMs + ttlMs, wallMs, metadata ?? null] as const;
    const key = [this.#namespace, name, holder.wire, term, nowMs] as const;
    this.#known.delete(name);
    return this.#transaction.run(extendLease, ...changes, ...key) === 1;
  }

  delete(name: string): void {
    this.#transaction.run(deleteRecord, this.#namespace, name);
    this.#known.set(name, undefined);
  }

  namesIn(group: string): string[] {
    const rows = this.#transaction.all(readGroup, this.#namespace, group);
    return rows.flatMap((row) => {
      const name = String(row.name);
      return this.#take(name, recordOf(row)) === undefined ? [] : name;
    });
  }

  /**
   * Removes rows whose time is over, among the next few after `name`: names that nobody asks for again must not fill the
   * file. @returns the last name looked at, from which the next sweep goes on; the empty text at the end of the table.
   */
  sweepAfter(name: string): string {
    const rows = this.#transaction.all(readNext, this.#namespace, name);
    for (const row of rows) {
      const swept = String(row.name);
      if (this.#take(swept, recordOf(row)) !== undefined) continue;
      this.delete(swept);
      this.#noteSwept(swept);
    }
    return String(rows.at(-1)?.name ?? '');
  }

  /** What stands under the name at this moment. */
  #take(name: string, stored: StoredRecord): StoredRecord | undefined {
    let current: StoredRecord | undefined = stored;
    while (current !== undefined && current.kind !== 'foreign') {
      if (current.deadlineMs > this.#transaction.nowMs) break;
      if (current.kind === 'lease') {
        this.#noteExpired({
          name,
          term: current.term,
          endReason: current.revocation === undefined ? 'expired' : 'revoked',
          // On the wall clock as it was when the deadline was set; nobody may have looked since.
          endedAtMs: current.renewedAtMs + current.ttlMs,
        });
      }
      current = afterExpiry(current);
    }
    this.#known.set(name, current);
    return current;
  }
}
