import { type HistoryEntry, historyCount } from '../coordinators/index.js';
import { type Evidence, evidenceLifeMs } from '../elections/evidence/index.js';
import type { TimedSource } from './store-time.js';

/** From when on the history has every term; `undefined` if no line was pushed out of it. */
export function keptFromMs(history: readonly HistoryEntry[]): number | undefined {
  if (history.length < historyCount) return undefined;
  // An act before it may be about a term whose line is gone.
  const first = history.find(({ kind }) => kind === 'term') ?? history[0];
  if (first === undefined) return undefined;
  return first.kind === 'term' ? first.grantedAtMs : first.atMs;
}

/**
 * From when on all that holders told is kept. Whoever told most loses its oldest first, so that several soon have as many as one
 * another, or one less, and each of them may have lost some. `undefined` if nothing was pushed out.
 */
export function toldFromMs({ evidence, isEvidenceFull }: TimedSource): number | undefined {
  if (!isEvidenceFull) return undefined;
  const times = new Map<string, number[]>();
  for (const { holderId, atMs } of evidence)
    times.set(holderId, [...(times.get(holderId) ?? []), atMs]);
  const most = Math.max(...[...times.values()].map(({ length }) => length));
  const trimmed = [...times.values()].filter(({ length }) => length >= most - 1);
  return Math.max(...trimmed.map((own) => Math.min(...own)));
}

/** A term of which its holder has told nothing that is kept. */
interface Untold {
  readonly holderId: string;
  readonly endedAtMs: number;
}

/** What a release says of itself in the history. */
const givenBack: readonly (string | undefined)[] = ['released', 'shutdown', 'handed-off'];

export function isGivenBack(endReason: string | undefined): boolean {
  return givenBack.includes(endReason);
}

/** Ends that the history explains by itself. */
const explained: readonly (string | undefined)[] = ['revoked', 'max-hold', 'abandoned'];

/** What may be missing of what holders told. Times of the evidence are by the store's clock. */
export class Kept {
  readonly #evidence: readonly Evidence[];
  readonly #isFull: boolean;
  readonly #nowMs: number;
  /** Terms that end by their work are given back, as the history has it; a note tells the rest. */
  readonly #isWorkTold: boolean;

  constructor({ evidence, nowMs, isEvidenceFull }: TimedSource) {
    this.#evidence = evidence;
    this.#isFull = isEvidenceFull;
    this.#nowMs = nowMs;
    this.#isWorkTold = evidence.some(
      (entry) => entry.kind === 'note' && entry.what.startsWith('work-'),
    );
  }

  /** Whether its holder has told anything of any term: one that keeps no evidence never does. */
  tells(holderId: string): boolean {
    return this.#evidence.some((entry) => entry.holderId === holderId);
  }

  /**
   * Whether what was told of a term may have been there and be gone: what is too old, and the oldest of whoever wrote most. Of
   * a holder of which nothing is left that was older than all that is.
   */
  isGone({ holderId, endedAtMs }: Untold, endReason: string | undefined): boolean {
    if (explained.includes(endReason)) return false;
    if (isGivenBack(endReason) && !this.#isWorkTold) return false;
    if (endedAtMs < this.#nowMs - evidenceLifeMs) return true;
    if (!this.#isFull) return false;
    const own = this.#evidence.filter((entry) => entry.holderId === holderId);
    const kept = own.length > 0 ? own : this.#evidence;
    return endedAtMs < Math.min(...kept.map(({ atMs }) => atMs));
  }
}
