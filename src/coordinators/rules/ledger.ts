import type { EnrollRequest } from '../candidates.js';
import type { StoredDocument } from '../contract.js';
import type { ActEntry, HistoryEntry } from '../history.js';
import type { Holder } from '../holder.js';
import type { Revocation } from '../record.js';
import type { StoredCandidate } from './candidate.js';
import type { StoredRecord } from './record.js';

/**
 * What a store that runs the rules in this process keeps of one namespace, as it is during one step: what the rules read
 * and change. The rules are synchronous, and nobody else may run between two of their statements.
 */
export interface Ledger {
  /** The highest term granted in the namespace; 0 before the first. */
  lastTerm: number;
  readonly records: LedgerRecords;
  /** The names that nobody may be granted, whatever else stands under them. */
  readonly suspensions: LedgerMap<Revocation> & { keys(): Iterable<string> };
  readonly candidates: LedgerCandidates;
  readonly histories: LedgerHistories;
  readonly documents: Pick<LedgerMap<StoredDocument>, 'get' | 'set'>;
  /** The store's Unix time, in milliseconds. */
  wallMs(): number;
  /** For messages: the namespace, where several stand in one place and a name alone does not tell which record it is. */
  readonly namespace?: string;
  /** The foreign text under a name, or `undefined` if there is none. */
  foreignText(name: string): string | undefined;
  /** What stands under a name has become another thing, and is not free: who watches its group is to be woken. */
  altered(name: string): void;
  /** A name has no owner any more: who watches its group is to be woken, and the first who may have it called. */
  vacated(name: string): void;
}

interface LedgerMap<Value> {
  get(name: string): Value | undefined;
  has(name: string): boolean;
  set(name: string, value: Value): unknown;
  /** @returns whether there was one. */
  delete(name: string): boolean;
}

/** Records whose time was over at the beginning of the step do not show: what follows them does. */
interface LedgerRecords {
  get(name: string): StoredRecord | undefined;
  set(name: string, record: StoredRecord): void;
  delete(name: string): void;
  /** The names of a group that have a record. */
  namesIn(group: string): string[];
}

/** Entries whose time was over do not show. */
interface LedgerCandidates {
  /** @returns whether another holder of the same id has refreshed its entry since this one last did. */
  enroll(request: EnrollRequest, nowMs: number, wallMs: number): boolean;
  withdraw(name: string, holder: Holder): void;
  /** Who waits, in the order in which they are called; then the rest. */
  of(name: string): StoredCandidate[];
  /** Who waits, in the order in which they are called; where not all were read, those who were. */
  waitingFor(name: string): StoredCandidate[];
  /** How many are called before this holder; `undefined` if it does not wait. */
  placeOf(name: string, holder: Holder): number | undefined;
}

interface LedgerHistories {
  /** Copies, oldest first. */
  of(name: string): HistoryEntry[];
  lastAct(name: string): ActEntry | undefined;
  /** Adds a line, and forgets the oldest if there are too many. */
  add(name: string, entry: HistoryEntry): void;
  /** Ends the line of a term, if there is one that has not ended. */
  close(name: string, term: number, endReason: string, endedAtMs: number): void;
  /** Ends every line of a term that is not `lastingTerm`: somebody removed its record. */
  closeVanished(name: string, lastingTerm: number | undefined, noticedAtMs: number): void;
}
