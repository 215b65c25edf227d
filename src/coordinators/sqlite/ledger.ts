import type { SqliteTransaction } from '../../drivers/sqlite/index.js';
import type { StoredDocument } from '../contract.js';
import type { Revocation } from '../record.js';
import type { Ledger } from '../rules/ledger.js';
import { isTerm } from '../term.js';
import { SqliteCandidates } from './candidates.js';
import { SqliteHistories } from './histories.js';
import { SqliteRecords } from './records.js';

const readCounters =
  'SELECT CAST(last_term AS REAL) AS last_term, enrollment_count FROM namespace WHERE namespace = ?';
const writeLastTerm =
  'INSERT INTO namespace VALUES (?, ?, 0) ON CONFLICT (namespace) DO UPDATE SET last_term = excluded.last_term';
const writeEnrollmentCount =
  'INSERT INTO namespace VALUES (?, 0, ?) ON CONFLICT (namespace) DO UPDATE SET enrollment_count = excluded.enrollment_count';
const addWake = 'INSERT INTO wake VALUES (NULL, ?, ?)';
/** Who has not looked for so long is told that anything may have happened. */
const forgetWakes = 'DELETE FROM wake WHERE number <= (SELECT MAX(number) FROM wake) - 1000';

/** One namespace of a file during one transaction, as the rules see it. */
export class SqliteLedger implements Ledger {
  readonly records: SqliteRecords;
  readonly suspensions: SqliteSuspensions;
  readonly candidates: SqliteCandidates;
  readonly histories: SqliteHistories;
  readonly documents: SqliteDocuments;
  readonly #transaction: SqliteTransaction;
  readonly namespace: string;
  readonly #woken = new Set<string>();

  constructor(transaction: SqliteTransaction, namespace: string) {
    this.#transaction = transaction;
    this.namespace = namespace;
    this.histories = new SqliteHistories(transaction, namespace);
    this.records = new SqliteRecords(
      transaction,
      namespace,
      ({ name, term, endReason, endedAtMs }) =>
        this.histories.close(name, term, endReason, endedAtMs),
      // Whoever has not looked since it expired finds no row any more.
      (name) => this.vacated(name),
    );
    this.suspensions = new SqliteSuspensions(transaction, namespace);
    this.candidates = new SqliteCandidates(transaction, namespace, () => this.#nextEnrollment());
    this.documents = new SqliteDocuments(transaction, namespace);
  }

  /** Not a term if somebody else wrote it: see {@link hasBadTerm}. */
  get lastTerm(): number {
    return Number(this.#counters()?.last_term ?? 0);
  }

  set lastTerm(term: number) {
    this.#transaction.run(writeLastTerm, this.namespace, term);
  }

  hasBadTerm(): boolean {
    return this.lastTerm !== 0 && !isTerm(this.lastTerm);
  }

  #nextEnrollment(): number {
    const next = Number(this.#counters()?.enrollment_count ?? 0) + 1;
    this.#transaction.run(writeEnrollmentCount, this.namespace, next);
    return next;
  }

  #counters() {
    return this.#transaction.get(readCounters, this.namespace);
  }

  wallMs(): number {
    return this.#transaction.wallMs;
  }

  foreignText(name: string): string | undefined {
    const record = this.records.get(name);
    return record?.kind === 'foreign' ? record.text : undefined;
  }

  altered(name: string): void {
    this.#woken.add(name);
  }

  vacated(name: string): void {
    this.#woken.add(name);
  }

  /** At the end of the step: leaves word for those who look at the file from time to time. */
  leaveWord(): void {
    if (this.#woken.size === 0) return;
    for (const name of this.#woken) this.#transaction.run(addWake, this.namespace, name);
    this.#transaction.run(forgetWakes);
  }
}

const readSuspension = 'SELECT by, reason, at_ms FROM suspension WHERE namespace = ? AND name = ?';
const readSuspended = 'SELECT name FROM suspension WHERE namespace = ?';
const writeSuspension = 'INSERT OR REPLACE INTO suspension VALUES (?, ?, ?, ?, ?)';
const deleteSuspension = 'DELETE FROM suspension WHERE namespace = ? AND name = ?';

/** The names of a namespace that nobody may be granted. */
class SqliteSuspensions {
  readonly #transaction: SqliteTransaction;
  readonly #namespace: string;

  constructor(transaction: SqliteTransaction, namespace: string) {
    this.#transaction = transaction;
    this.#namespace = namespace;
  }

  get(name: string): Revocation | undefined {
    const row = this.#transaction.get(readSuspension, this.#namespace, name);
    return row && { by: String(row.by), reason: String(row.reason), atMs: Number(row.at_ms) };
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  keys(): string[] {
    return this.#transaction.all(readSuspended, this.#namespace).map(({ name }) => String(name));
  }

  set(name: string, { by, reason, atMs }: Revocation): void {
    this.#transaction.run(writeSuspension, this.#namespace, name, by, reason, atMs);
  }

  delete(name: string): boolean {
    const wasThere = this.has(name);
    this.#transaction.run(deleteSuspension, this.#namespace, name);
    return wasThere;
  }
}

const readDocument = 'SELECT version, text FROM document WHERE namespace = ? AND name = ?';
const writeDocument = 'INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?)';

/** The documents of a namespace. */
class SqliteDocuments {
  readonly #transaction: SqliteTransaction;
  readonly #namespace: string;

  constructor(transaction: SqliteTransaction, namespace: string) {
    this.#transaction = transaction;
    this.#namespace = namespace;
  }

  get(name: string): StoredDocument | undefined {
    const row = this.#transaction.get(readDocument, this.#namespace, name);
    return row && { version: Number(row.version), text: String(row.text) };
  }

  set(name: string, { version, text }: StoredDocument): void {
    this.#transaction.run(writeDocument, this.#namespace, name, version, text);
  }
}
