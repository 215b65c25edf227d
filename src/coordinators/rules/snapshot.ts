import type { EnrollRequest } from '../candidates.js';
import type { StoredDocument } from '../contract.js';
import { type ActEntry, type HistoryEntry, historyCount, type TermEntry } from '../history.js';
import { groupOf } from '../names.js';
import { compareCandidates, type Ranked } from '../order.js';
import type { Revocation } from '../record.js';
import type { StoredCandidate } from './candidate.js';
import type { Ledger } from './ledger.js';
import type { StoredRecord } from './record.js';

/** All that a store keeps of one name, as it was read. What had ended by then is left out. */
export interface NameSnapshot {
  readonly record?: StoredRecord | undefined;
  readonly suspension?: Revocation | undefined;
  readonly candidates?: readonly StoredCandidate[];
  /** Who waits besides, and was not read as a whole. */
  readonly others?: readonly Ranked[];
  readonly history?: readonly HistoryEntry[];
  readonly document?: StoredDocument | undefined;
}

/** What a step made of a name. A part that it left as it was is absent. */
export interface NameChange {
  record?: { readonly before: StoredRecord | undefined; readonly after: StoredRecord | undefined };
  suspension?: { readonly after: Revocation | undefined };
  candidates?: { readonly after: readonly StoredCandidate[] };
  history?: { readonly after: readonly HistoryEntry[] };
  document?: { readonly after: StoredDocument };
}

export interface SnapshotTimes {
  /** The store's Unix time. */
  readonly wallMs: number;
  /** The highest term that the store has granted in the namespace; 0 if it takes terms from elsewhere. */
  readonly lastTerm?: number;
}

interface Working {
  readonly snapshot: NameSnapshot;
  record: StoredRecord | undefined;
  suspension: Revocation | undefined;
  candidates: readonly StoredCandidate[];
  history: readonly HistoryEntry[];
  document: StoredDocument | undefined;
}

/**
 * A ledger over what was read of some names, for a store that can only write under the condition that this is still so:
 * read, run the rules, write {@link changes} in one conditional step; if the condition does not hold, begin anew.
 *
 * It knows the names that it was given and no others.
 */
export class SnapshotLedger implements Ledger {
  lastTerm: number;
  readonly records: Ledger['records'];
  readonly suspensions: Ledger['suspensions'];
  readonly candidates: Ledger['candidates'];
  readonly histories: Ledger['histories'];
  readonly documents: Ledger['documents'];
  /** Names that have become another thing and are not free, and names that have no owner any more. */
  readonly alteredNames = new Set<string>();
  readonly vacatedNames = new Set<string>();
  readonly #wallMs: number;
  readonly #names = new Map<string, Working>();

  constructor(names: ReadonlyMap<string, NameSnapshot>, times: SnapshotTimes) {
    this.#wallMs = times.wallMs;
    this.lastTerm = times.lastTerm ?? 0;
    for (const [name, snapshot] of names) this.#names.set(name, workingCopy(snapshot));
    this.records = this.#recordsView();
    this.suspensions = this.#suspensionsView();
    this.candidates = this.#candidatesView();
    this.histories = this.#historiesView();
    this.documents = {
      get: (name) => this.#of(name).document,
      set: (name, document) => {
        this.#of(name).document = document;
      },
    };
  }

  wallMs(): number {
    return this.#wallMs;
  }

  foreignText(name: string): string | undefined {
    const { record } = this.#of(name);
    return record?.kind === 'foreign' ? record.text : undefined;
  }

  altered(name: string): void {
    this.alteredNames.add(name);
  }

  vacated(name: string): void {
    this.vacatedNames.add(name);
  }

  /** What the step changed, by name; nothing for a name that is as it was. */
  changes(): Map<string, NameChange> {
    const changes = new Map<string, NameChange>();
    for (const [name, working] of this.#names) {
      const change = changeOf(working);
      if (change !== undefined) changes.set(name, change);
    }
    return changes;
  }

  #of(name: string): Working {
    const working = this.#names.get(name);
    if (working === undefined) throw new Error(`"${name}" was not read in this step`);
    return working;
  }

  #recordsView(): Ledger['records'] {
    return {
      get: (name) => this.#of(name).record,
      set: (name, record) => {
        this.#of(name).record = record;
      },
      delete: (name) => {
        this.#of(name).record = undefined;
      },
      namesIn: (group) =>
        [...this.#names]
          .filter(([name, { record }]) => record !== undefined && groupOf(name) === group)
          .map(([name]) => name)
          .sort(),
    };
  }

  #suspensionsView(): Ledger['suspensions'] {
    return {
      get: (name) => this.#of(name).suspension,
      has: (name) => this.#of(name).suspension !== undefined,
      set: (name, suspension) => {
        this.#of(name).suspension = suspension;
      },
      delete: (name) => {
        const working = this.#of(name);
        const wasThere = working.suspension !== undefined;
        working.suspension = undefined;
        return wasThere;
      },
      keys: () =>
        [...this.#names]
          .filter(([, { suspension }]) => suspension !== undefined)
          .map(([name]) => name),
    };
  }

  #candidatesView(): Ledger['candidates'] {
    return {
      enroll: (request, nowMs, wallMs) => {
        const working = this.#of(request.name);
        const { candidates, duplicate } = enrolled(working, request, nowMs, wallMs);
        working.candidates = candidates;
        return duplicate;
      },
      withdraw: (name, holder) => {
        const working = this.#of(name);
        const others = working.candidates.filter((one) => !one.holder.equals(holder));
        if (others.length < working.candidates.length) working.candidates = others;
      },
      of: (name) => [...this.#of(name).candidates].sort(compareCandidates),
      waitingFor: (name) =>
        this.#of(name)
          .candidates.filter(({ standing }) => standing === 'waiting')
          .sort(compareCandidates),
      placeOf: (name, holder) => {
        const { candidates, snapshot } = this.#of(name);
        const own = candidates.find((one) => one.holder.equals(holder));
        if (own?.standing !== 'waiting') return undefined;
        const isBefore = (one: Ranked) => compareCandidates(one, own) < 0;
        return [...candidates, ...(snapshot.others ?? none)].filter(isBefore).length;
      },
    };
  }

  #historiesView(): Ledger['histories'] {
    const end = (name: string, isMeant: (entry: TermEntry) => boolean, ended: Ended) => {
      const working = this.#of(name);
      const isOver = (entry: HistoryEntry): entry is TermEntry =>
        entry.kind === 'term' && entry.endedAtMs === undefined && isMeant(entry);
      if (!working.history.some(isOver)) return;
      working.history = working.history.map((entry) =>
        isOver(entry) ? { ...entry, ...ended } : entry,
      );
    };
    return {
      of: (name) => [...this.#of(name).history],
      lastAct: (name) =>
        this.#of(name).history.findLast((entry): entry is ActEntry => entry.kind === 'act'),
      add: (name, entry) => {
        const working = this.#of(name);
        working.history = [...working.history, entry].slice(-historyCount);
      },
      close: (name, term, endReason, endedAtMs) =>
        end(name, (entry) => entry.term === term, { endReason, endedAtMs }),
      closeVanished: (name, lastingTerm, endedAtMs) =>
        end(name, (entry) => entry.term !== lastingTerm, { endReason: 'vanished', endedAtMs }),
    };
  }
}

type Ended = Required<Pick<TermEntry, 'endReason' | 'endedAtMs'>>;

function workingCopy(snapshot: NameSnapshot): Working {
  const { record, suspension, candidates = none, history = none, document } = snapshot;
  return { snapshot, record, suspension, candidates, history, document };
}

const none: readonly never[] = [];

/** Rules replace and never mutate, so a part that is another object has changed. */
function changeOf({ snapshot, ...now }: Working): NameChange | undefined {
  const change: NameChange = {};
  if (now.record !== snapshot.record)
    change.record = { before: snapshot.record, after: now.record };
  if (now.suspension !== snapshot.suspension) change.suspension = { after: now.suspension };
  if (now.candidates !== (snapshot.candidates ?? none))
    change.candidates = { after: now.candidates };
  if (now.history !== (snapshot.history ?? none)) change.history = { after: now.history };
  if (now.document !== snapshot.document && now.document !== undefined)
    change.document = { after: now.document };
  return Object.keys(change).length === 0 ? undefined : change;
}

/** The list with the holder's entry made or refreshed, and whether a namesake has refreshed its own since. */
function enrolled(
  { candidates, snapshot: { others: unread = none } }: Working,
  { holder, standing, preference, metadata, ttlMs }: EnrollRequest,
  nowMs: number,
  wallMs: number,
): { candidates: StoredCandidate[]; duplicate: boolean } {
  const before = candidates.find((one) => one.holder.equals(holder));
  const others = candidates.filter((one) => one !== before);
  const latest = [...candidates.map((one) => one.refresh), ...unread.map((one) => one.since)];
  const refresh = 1 + latest.reduce((one, other) => Math.max(one, other), 0);
  const { id, digest } = holder;
  const { since, sinceMs } =
    before?.standing === standing ? before : { since: refresh, sinceMs: wallMs };
  const deadlineMs = nowMs + ttlMs;
  const entry = { holder, id, digest, standing, preference, since, sinceMs, deadlineMs };
  const isLaterNamesake = (one: StoredCandidate) =>
    before !== undefined && one.id === id && one.refresh > before.refresh;
  return {
    candidates: [...others, { ...entry, refresh, metadata }],
    duplicate: others.some(isLaterNamesake),
  };
}
