import type { SqliteClock, SqliteRow, SqliteTransaction } from '../../drivers/sqlite/index.js';
import { RecordCorruptError } from '../../errors/index.js';
import type { OnceUnknownOptions } from '../contract.js';
import type { OnceRecord } from '../records.js';
import { type Found, recordOf, type StoredKey } from '../rules/decisions.js';
import { corruptKey, decodeKey, encodeKey } from '../rules/texts.js';
import { isThere, statements, tables } from './statements.js';

/** The deadline of an attempt, as long as the machine is not started anew. */
interface Deadline {
  readonly boot: string;
  readonly deadlineMs: number;
}

/** The keys of one namespace within one transaction. */
export class OnceRows {
  readonly #transaction: SqliteTransaction;
  readonly #clock: SqliteClock;
  readonly #namespace: string;
  /** A file that nobody has written a key to has no table. */
  readonly #isEmpty: boolean;

  constructor(transaction: SqliteTransaction, clock: SqliteClock, namespace: string) {
    this.#transaction = transaction;
    this.#clock = clock;
    this.#namespace = namespace;
    const isMissing = transaction.get(isThere)?.count !== 1;
    this.#isEmpty = isMissing && transaction.mode === 'read';
    if (isMissing && !this.#isEmpty) for (const table of tables) transaction.run(table);
  }

  find(key: string): Found {
    const found = this.#found(key, this.#row(key));
    const ownMs = ownTimeMs(found.stored);
    if (this.#transaction.mode === 'read' || found.remainingMs <= ownMs) return found;
    // A wall clock, where there is no other, was set back: the attempt has its own time from now on.
    if (found.stored !== undefined) this.put(key, found.stored, ownMs);
    return { ...found, remainingMs: ownMs };
  }

  record(key: string): OnceRecord | undefined {
    return recordOf(key, this.find(key));
  }

  /** An attempt that begins has its time from now on; whatever else is written leaves the deadline alone. */
  put(key: string, stored: StoredKey, timeoutMs?: number): void {
    const { boot, deadlineMs } = this.#deadline(key, timeoutMs);
    const isOpen = stored.state === 'started' || stored.state === 'unknown';
    this.#transaction.run(
      statements.put,
      ...[this.#namespace, key, isOpen ? 1 : 0, boot, deadlineMs],
      ...[stored.deadlineAtMs, stored.expiresAtMs ?? null, encodeKey(stored)],
    );
  }

  unknown({ limit, after }: OnceUnknownOptions): OnceRecord[] {
    const found: OnceRecord[] = [];
    let [deadlineAtMs, key] = after === undefined ? [-1, ''] : [after.deadlineAtMs, after.key];
    while (found.length < limit) {
      const rows = this.#all(statements.open, deadlineAtMs, key, limit);
      for (const row of rows) {
        key = String(row.key);
        deadlineAtMs = Number(row.deadline_at_ms);
        const record = this.#shown(key, row);
        if (record === 'corrupt' || record?.state !== 'unknown') continue;
        if (found.length < limit) found.push(record);
      }
      if (rows.length < limit) break;
    }
    return found;
  }

  forget(limit: number): number {
    const rows = this.#all(statements.expired, this.#nowMs, limit);
    const over = rows.filter((row) => this.#shown(String(row.key), row) === undefined);
    for (const { key } of over)
      this.#transaction.run(statements.drop, this.#namespace, String(key));
    return over.length;
  }

  /** For lists: what cannot be read is passed over, and neither of unknown outcome nor over. */
  #shown(key: string, row: SqliteRow): OnceRecord | 'corrupt' | undefined {
    try {
      return recordOf(key, this.#found(key, row));
    } catch (error) {
      if (error instanceof RecordCorruptError) return 'corrupt';
      throw error;
    }
  }

  #deadline(key: string, timeoutMs: number | undefined): Deadline {
    if (timeoutMs !== undefined)
      return { boot: this.#clock.bootId, deadlineMs: this.#transaction.nowMs + timeoutMs };
    const row = this.#row(key);
    return { boot: String(row?.boot), deadlineMs: Number(row?.deadline_ms) };
  }

  #row(key: string): SqliteRow | undefined {
    return this.#isEmpty ? undefined : this.#transaction.get(statements.find, this.#namespace, key);
  }

  #all(sql: string, ...values: (string | number)[]): SqliteRow[] {
    return this.#isEmpty ? [] : this.#transaction.all(sql, this.#namespace, ...values);
  }

  #found(key: string, row: SqliteRow | undefined): Found {
    const nowMs = this.#nowMs;
    if (row === undefined) return { stored: undefined, remainingMs: 0, nowMs };
    const isOfThisBoot = row.boot === this.#clock.bootId;
    const remainingMs = isOfThisBoot ? Number(row.deadline_ms) - this.#transaction.nowMs : 0;
    const stored = decodeKey(String(row.record), key);
    if (Number.isNaN(remainingMs)) throw corruptKey(key);
    const isLong = this.#transaction.mode === 'read' && remainingMs > ownTimeMs(stored);
    return { stored, remainingMs: isLong ? ownTimeMs(stored) : remainingMs, nowMs };
  }

  get #nowMs(): number {
    return Math.floor(this.#transaction.wallMs);
  }
}

/** What its caller gave an attempt. */
function ownTimeMs(stored: StoredKey | undefined): number {
  if (stored === undefined) return 0;
  return Math.max(0, stored.deadlineAtMs - stored.startedAtMs);
}
