import type { SqliteClock, SqliteRow, SqliteTransaction } from '../../drivers/sqlite/index.js';
import type { OnceUnknownOptions } from '../contract.js';
import type { OnceRecord } from '../records.js';
import { type Found, recordOf, type StoredKey } from '../rules/decisions.js';
import { decodeKey, encodeKey } from '../rules/texts.js';
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
    return this.#found(key, this.#row(key));
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
        const one = this.#found(key, row);
        deadlineAtMs = one.stored?.deadlineAtMs ?? deadlineAtMs;
        const record = recordOf(key, one);
        if (record?.state === 'unknown' && found.length < limit) found.push(record);
      }
      if (rows.length < limit) break;
    }
    return found;
  }

  forget(limit: number): number {
    const rows = this.#all(statements.expired, this.#nowMs, limit);
    const over = rows.filter((row) => {
      const key = String(row.key);
      return recordOf(key, this.#found(key, row)) === undefined;
    });
    for (const { key } of over)
      this.#transaction.run(statements.drop, this.#namespace, String(key));
    return over.length;
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
    return { stored: decodeKey(String(row.record), key), remainingMs, nowMs };
  }

  get #nowMs(): number {
    return Math.floor(this.#transaction.wallMs);
  }
}
