import { type HistoryEntry, historyCount, type TermEntry } from '../coordinators/index.js';
import {
  type Evidence,
  evidenceCount,
  evidenceLifeMs,
  type LossEvidence,
  mostAheadMs,
} from '../elections/evidence/index.js';

/** What is kept of an election. */
export interface Source {
  readonly name: string;
  readonly history: readonly HistoryEntry[];
  readonly evidence: readonly Evidence[];
  /** Why there is no evidence though something stands in its place. Default: what stands there could be read. */
  readonly evidenceProblem?: string | undefined;
}

/** What is known, all by the clock of the store, and what time it is there. */
export interface TimedSource extends Source {
  readonly nowMs: number;
  /** Some of what was told may be gone, or all of it cannot be read. */
  readonly isEvidenceFull: boolean;
}

/**
 * History and evidence in one time. Lines of the history are by the store's clock, evidence by the clock of whoever saw it, and now
 * by the reader's: any of them may be wrong.
 *
 * - What the history tells of is later than the reader's clock: it is later, then.
 * - A line that is far ahead is taken for of now, since it would make the time that is judged as long as it is ahead. Unless
 *   most of the history is: then it is the reader's clock that is behind.
 * - Evidence of a term that the history has is where the history has it.
 * - Other evidence is between the terms around it; if it is ahead it is of now, and if it is older than evidence is kept, it is
 *   left out.
 */
export function inStoreTime(told: Source, readerMs: number): TimedSource {
  const history = withinHistory(told.history, readerMs);
  const nowMs = Math.max(readerMs, ...timesOf(history));
  const evidence = new EvidenceTimes(history, told.evidence, nowMs);
  return {
    name: told.name,
    history,
    evidence: told.evidence.flatMap((entry) => evidence.placed(entry)),
    nowMs,
    evidenceProblem: told.evidenceProblem,
    isEvidenceFull: told.evidence.length >= evidenceCount || told.evidenceProblem !== undefined,
  };
}

/** All times that are in a history. */
export function timesOf(history: readonly HistoryEntry[]): number[] {
  return history.flatMap((entry) =>
    entry.kind === 'act' ? entry.atMs : [entry.grantedAtMs, entry.endedAtMs ?? entry.grantedAtMs],
  );
}

function withinHistory(history: readonly HistoryEntry[], readerMs: number): HistoryEntry[] {
  const times = timesOf(history).sort((a, b) => a - b);
  const isReaderBehind = (times[times.length >> 1] ?? 0) > readerMs + mostAheadMs;
  const latestMs = isReaderBehind ? (times.at(-1) ?? readerMs) : readerMs;
  const within = (atMs: number) => (atMs > latestMs + mostAheadMs ? latestMs : atMs);
  return history.map((entry) => {
    if (entry.kind === 'act') return { ...entry, atMs: within(entry.atMs) };
    const { grantedAtMs, endedAtMs } = entry;
    const endMs = endedAtMs === undefined ? undefined : within(endedAtMs);
    return { ...entry, grantedAtMs: within(grantedAtMs), endedAtMs: endMs };
  });
}

class EvidenceTimes {
  readonly #terms: readonly TermEntry[];
  readonly #isHistoryFull: boolean;
  readonly #losses: readonly LossEvidence[];
  readonly #nowMs: number;

  constructor(history: readonly HistoryEntry[], evidence: readonly Evidence[], nowMs: number) {
    this.#terms = history.filter((entry): entry is TermEntry => entry.kind === 'term');
    this.#isHistoryFull = history.length >= historyCount;
    this.#losses = evidence.filter((entry): entry is LossEvidence => entry.kind === 'loss');
    this.#nowMs = nowMs;
  }

  /** The entry with its time by the store's clock; none if it is not known, or its term was pushed out of the history. */
  placed(entry: Evidence): Evidence[] {
    const known = this.#terms.find(({ term }) => term === entry.term);
    if (known !== undefined) {
      const { holderId, term } = entry;
      const own = this.#losses.find((loss) => loss.term === term && loss.holderId === holderId);
      return [
        moved(entry, own === undefined ? 0 : aheadMs(own, known), known.grantedAtMs, this.#nowMs),
      ];
    }
    const oldestMs = this.#nowMs - evidenceLifeMs;
    const byMs = entry.atMs < oldestMs ? this.#aheadOf(entry.holderId) : 0;
    if (entry.atMs - byMs < oldestMs) return [];
    if (entry.kind !== 'loss') return [moved(entry, byMs, oldestMs, this.#nowMs)];
    const before = this.#terms.filter(({ term }) => term < entry.term);
    const after = this.#terms.filter(({ term }) => term > entry.term);
    if (this.#isHistoryFull && before.length === 0) return [];
    const fromMs = Math.max(oldestMs, ...before.map(({ grantedAtMs }) => grantedAtMs));
    const toMs = Math.min(this.#nowMs, ...after.map(({ grantedAtMs }) => grantedAtMs));
    return [moved(entry, byMs, fromMs, toMs)];
  }

  /** By how much the clock of a holder was ahead of the store's at the last of its losses that the history knows. */
  #aheadOf(holderId: string): number {
    const known = this.#losses.flatMap((loss) => {
      const of = this.#terms.find(({ term }) => term === loss.term);
      return of === undefined || loss.holderId !== holderId ? [] : aheadMs(loss, of);
    });
    return known.at(-1) ?? 0;
  }
}

/** How long it was held is the same by any clock. */
function aheadMs({ atMs, heldMs }: LossEvidence, { grantedAtMs }: TermEntry): number {
  return atMs - (grantedAtMs + heldMs);
}

function moved(entry: Evidence, byMs: number, fromMs: number, toMs: number): Evidence {
  const place = (atMs: number) => Math.max(fromMs, Math.min(toMs, atMs - byMs));
  const atMs = place(entry.atMs);
  if (entry.kind !== 'refusals') return { ...entry, atMs };
  return { ...entry, atMs, firstAtMs: place(entry.firstAtMs) };
}
