import type { StoredDocument } from '../../coordinators/contract.js';
import { type ActEntry, type HistoryEntry, historyCount } from '../../coordinators/history.js';
import { Candidates } from '../../coordinators/memory/candidates.js';
import { groupOf } from '../../coordinators/names.js';
import type { Revocation } from '../../coordinators/record.js';
import type { Ledger } from '../../coordinators/rules/ledger.js';
import { afterExpiry, type StoredRecord } from '../../coordinators/rules/record.js';

/** After so many changes those that are too old to be undone are let go. */
const trimmedEvery = 256;

type Cause = 'request' | 'time' | 'fault';

/** What a ledger needs from the server it lies on. */
export interface LedgerHost {
  /** The clock that judges expiry. */
  nowMs(): number;
  wallMs(): number;
  altered(name: string): void;
  vacated(name: string): void;
  changed(
    name: string,
    before: StoredRecord | undefined,
    after: StoredRecord | undefined,
    cause: Cause,
  ): void;
}

/**
 * The records of one server of a model, which the rules of `coordinators/rules` work on. Other than the store of the memory
 * coordinator it can be copied, as a replica is, and tells of every change.
 */
export class ModelLedger implements Ledger {
  #lastTerm = 0;
  readonly #host: LedgerHost;
  readonly #records = new Map<string, StoredRecord>();
  /** The names of each group, in the order of the records. */
  readonly #groups = new Map<string, Set<string>>();
  /** The earliest deadline of all records; `undefined`: it has to be looked for. */
  #nextExpiryMs: number | undefined;
  readonly #histories = new Map<string, HistoryEntry[]>();
  readonly suspensions = new Map<string, Revocation>();
  readonly #documents = new Map<string, StoredDocument>();
  readonly candidates = new Candidates();
  #cause: Cause = 'request';
  /** How to undo what was done lately, oldest first; kept only if the ledger may be rewound. */
  #journalMs = 0;
  #journal: { readonly atMs: number; readonly undo: () => void }[] | undefined;

  constructor(host: LedgerHost) {
    this.#host = host;
  }

  /** With all that was granted, and without those who wait: they enroll again. */
  copy(host: LedgerHost): ModelLedger {
    const copied = new ModelLedger(host);
    copied.#lastTerm = this.#lastTerm;
    for (const [name, record] of this.#records) copied.#store(name, record);
    for (const [name, entries] of this.#histories) copied.#histories.set(name, [...entries]);
    for (const [name, one] of this.suspensions) copied.suspensions.set(name, one);
    for (const [name, one] of this.#documents) copied.#documents.set(name, one);
    return copied;
  }

  readonly records: Ledger['records'] = {
    get: (name) => this.#records.get(name),
    set: (name, record) => this.#put(name, record),
    delete: (name) => this.#put(name, undefined),
    namesIn: (group) => [...(this.#groups.get(group) ?? [])],
  };

  readonly documents: Ledger['documents'] = {
    get: (name) => this.#documents.get(name),
    set: (name, document) => {
      const before = this.#documents.get(name);
      this.#note(() => {
        if (before === undefined) this.#documents.delete(name);
        else this.#documents.set(name, before);
      });
      this.#documents.set(name, document);
    },
  };

  readonly histories: Ledger['histories'] = {
    of: (name) => [...(this.#histories.get(name) ?? [])],
    lastAct: (name) =>
      this.#histories.get(name)?.findLast((entry): entry is ActEntry => entry.kind === 'act'),
    add: (name, entry) => {
      const entries = [...(this.#histories.get(name) ?? []), entry];
      this.#histories.set(name, entries.slice(-historyCount));
    },
    close: (name, term, endReason, endedAtMs) =>
      this.#close(name, (other) => other === term, { endReason, endedAtMs }),
    closeVanished: (name, lastingTerm, endedAtMs) =>
      this.#close(name, (term) => term !== lastingTerm, { endReason: 'vanished', endedAtMs }),
  };

  get lastTerm(): number {
    return this.#lastTerm;
  }

  set lastTerm(term: number) {
    const before = this.#lastTerm;
    this.#note(() => {
      this.#lastTerm = before;
    });
    this.#lastTerm = term;
  }

  wallMs(): number {
    return this.#host.wallMs();
  }

  /** What happens from now on can be undone, as far as it is not older than this when it is. */
  keepJournal(longestMs: number): void {
    this.#journalMs = longestMs;
    this.#journal = [];
  }

  /** As it was at that time of the server's: what was granted, renewed and ended since never was. */
  rewind(toMs: number): void {
    const undone = this.#journal?.filter(({ atMs }) => atMs > toMs) ?? [];
    this.#journal = undefined;
    this.because('fault', () => {
      for (const { undo } of undone.reverse()) undo();
    });
    this.#journal = [];
  }

  foreignText(): undefined {
    return undefined;
  }

  altered(name: string): void {
    this.#host.altered(name);
  }

  vacated(name: string): void {
    this.#host.vacated(name);
  }

  /** All names with a record, and what it is. */
  get all(): ReadonlyMap<string, StoredRecord> {
    return this.#records;
  }

  /** Infinite if nothing can expire. */
  get nextExpiryMs(): number {
    if (this.#nextExpiryMs !== undefined) return this.#nextExpiryMs;
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const record of this.#records.values())
      earliestMs = Math.min(earliestMs, deadlineOf(record));
    this.#nextExpiryMs = earliestMs;
    return earliestMs;
  }

  /** Puts in place of every record whose deadline has passed what follows it. */
  expire(nowMs: number): void {
    this.candidates.expire(nowMs);
    if (this.nextExpiryMs > nowMs) return;
    for (const [name, record] of [...this.#records]) {
      let current: StoredRecord | undefined = record;
      while (current !== undefined && current.kind !== 'foreign' && current.deadlineMs <= nowMs)
        current = afterExpiry(current);
      if (current === record) continue;
      this.because('time', () => this.#put(name, current));
      if (record.kind === 'lease')
        this.histories.close(name, record.term, 'expired', record.renewedAtMs + record.ttlMs);
      if (current?.kind !== 'lock-delay') this.vacated(name);
    }
  }

  /** A fault of the store takes a record away. */
  evict(name: string): void {
    this.because('fault', () => this.#put(name, undefined));
    this.vacated(name);
  }

  /** What is changed in `change` has this cause; without it, a request has. */
  because(cause: Cause, change: () => void): void {
    const before = this.#cause;
    this.#cause = cause;
    try {
      change();
    } finally {
      this.#cause = before;
    }
  }

  #put(name: string, record: StoredRecord | undefined): void {
    const before = this.#records.get(name);
    if (this.#journal !== undefined) this.#note(() => this.#put(name, before));
    if (record !== undefined) this.#store(name, record);
    else if (this.#records.delete(name)) this.#groups.get(groupOf(name))?.delete(name);
    if (before !== undefined && deadlineOf(before) === this.#nextExpiryMs)
      this.#nextExpiryMs = undefined;
    this.#host.changed(name, before, record, this.#cause);
  }

  #store(name: string, record: StoredRecord): void {
    if (!this.#records.has(name)) {
      const group = groupOf(name);
      const names = this.#groups.get(group) ?? new Set();
      this.#groups.set(group, names.add(name));
    }
    this.#records.set(name, record);
    if (this.#nextExpiryMs !== undefined)
      this.#nextExpiryMs = Math.min(this.#nextExpiryMs, deadlineOf(record));
  }

  #note(undo: () => void): void {
    if (this.#journal === undefined) return;
    const atMs = this.#host.nowMs();
    this.#journal.push({ atMs, undo });
    if (this.#journal.length % trimmedEvery !== 0) return;
    const kept = this.#journal.findIndex((one) => one.atMs >= atMs - this.#journalMs);
    this.#journal.splice(0, kept);
  }

  #close(
    name: string,
    isMeant: (term: number) => boolean,
    ended: { readonly endReason: string; readonly endedAtMs: number },
  ): void {
    const entries = this.#histories.get(name);
    if (entries === undefined) return;
    const isOver = (entry: HistoryEntry) =>
      entry.kind === 'term' && entry.endedAtMs === undefined && isMeant(entry.term);
    if (!entries.some(isOver)) return;
    this.#histories.set(
      name,
      entries.map((entry) => (isOver(entry) ? ({ ...entry, ...ended } as HistoryEntry) : entry)),
    );
  }
}

const deadlineOf = (record: StoredRecord) =>
  record.kind === 'foreign' ? Number.POSITIVE_INFINITY : record.deadlineMs;
