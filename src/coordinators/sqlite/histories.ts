import type { SqliteRow, SqliteTransaction } from '../../drivers/sqlite/index.js';
import { type ActEntry, type HistoryEntry, historyCount, historyLifeMs } from '../history.js';

const of = 'WHERE namespace = ? AND name = ?';
const readLines = `SELECT *, CAST(term AS REAL) AS term FROM history ${of} ORDER BY line`;
const readLastAct = `SELECT * FROM history ${of} AND kind = 'act' ORDER BY line DESC LIMIT 1`;
const addLine = `INSERT INTO history VALUES (NULL, ${Array(12).fill('?').join(', ')})`;
const forgetOldest = `DELETE FROM history ${of} AND line <= (SELECT line FROM history ${of} ORDER BY line DESC LIMIT 1 OFFSET ${historyCount})`;
const endTerm = `UPDATE history SET end_reason = ?, ended_at_ms = ? ${of} AND kind = 'term' AND ended_at_ms IS NULL AND term = ?`;
const endOtherTerms = `UPDATE history SET end_reason = ?, ended_at_ms = ? ${of} AND kind = 'term' AND ended_at_ms IS NULL AND term <> ?`;
const noteUse = 'INSERT OR REPLACE INTO history_use VALUES (?, ?, ?)';
const readUnused = `SELECT u.name, EXISTS (SELECT 1 FROM lease AS l WHERE l.namespace = u.namespace AND l.name = u.name
    AND l.deadline_ms + COALESCE(l.grace_ms, 0) + COALESCE(l.reserve_ms, 0) > ?)
  OR EXISTS (SELECT 1 FROM suspension AS s WHERE s.namespace = u.namespace AND s.name = u.name) AS is_in_use
  FROM history_use AS u WHERE u.namespace = ? AND u.used_at_ms <= ? ORDER BY u.used_at_ms LIMIT 4`;
const forgetLines = `DELETE FROM history ${of}`;
const forgetUse = `DELETE FROM history_use ${of}`;

/** No term is lower than 1, so this leaves out none. */
const noTerm = 0;

/** The lines about the names of a namespace during one step. Times in the lines are Unix times. */
export class SqliteHistories {
  readonly #transaction: SqliteTransaction;
  readonly #namespace: string;

  constructor(transaction: SqliteTransaction, namespace: string) {
    this.#transaction = transaction;
    this.#namespace = namespace;
  }

  of(name: string): HistoryEntry[] {
    return this.#transaction.all(readLines, this.#namespace, name).map(entryOf);
  }

  lastAct(name: string): ActEntry | undefined {
    const row = this.#transaction.get(readLastAct, this.#namespace, name);
    return row && actOf(row);
  }

  add(name: string, entry: HistoryEntry): void {
    const key = [this.#namespace, name] as const;
    const values =
      entry.kind === 'term'
        ? [entry.grantedAtMs, entry.term, entry.holderId, null, null, null, null, null, null]
        : [entry.atMs, null, null, null, null, entry.act, entry.by, entry.reason, entry.to ?? null];
    this.#transaction.run(addLine, ...key, entry.kind, ...values);
    this.#transaction.run(forgetOldest, ...key, ...key);
    this.#transaction.run(noteUse, ...key, this.#transaction.wallMs);
    this.#forgetUnused();
  }

  close(name: string, term: number, endReason: string, endedAtMs: number): void {
    // Nothing that is only looked at is changed; what shows of it is judged anew each time.
    if (this.#transaction.mode === 'read') return;
    this.#transaction.run(endTerm, endReason, endedAtMs, this.#namespace, name, term);
  }

  closeVanished(name: string, lastingTerm: number | undefined, noticedAtMs: number): void {
    const key = [this.#namespace, name] as const;
    this.#transaction.run(endOtherTerms, 'vanished', noticedAtMs, ...key, lastingTerm ?? noTerm);
  }

  /** A few at a time, those that were used longest ago first. */
  #forgetUnused(): void {
    const { nowMs, wallMs } = this.#transaction;
    const rows = this.#transaction.all(readUnused, nowMs, this.#namespace, wallMs - historyLifeMs);
    for (const { name, is_in_use } of rows) {
      const key = [this.#namespace, String(name)] as const;
      if (is_in_use === 1) {
        this.#transaction.run(noteUse, ...key, wallMs);
        continue;
      }
      this.#transaction.run(forgetLines, ...key);
      this.#transaction.run(forgetUse, ...key);
    }
  }
}

function entryOf(row: SqliteRow): HistoryEntry {
  if (row.kind === 'act') return actOf(row);
  return {
    kind: 'term',
    term: Number(row.term),
    holderId: String(row.holder_id),
    grantedAtMs: Number(row.at_ms),
    endedAtMs: row.ended_at_ms == null ? undefined : Number(row.ended_at_ms),
    endReason: row.end_reason == null ? undefined : String(row.end_reason),
  };
}

function actOf(row: SqliteRow): ActEntry {
  return {
    kind: 'act',
    act: row.act as ActEntry['act'],
    by: String(row.by),
    reason: String(row.reason),
    atMs: Number(row.at_ms),
    ...(row.successor == null ? {} : { to: String(row.successor) }),
  };
}
