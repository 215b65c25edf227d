import {
  type ActEntry,
  type HistoryEntry,
  historyCount,
  historyLifeMs,
  type TermEntry,
} from '../history.js';

interface History {
  readonly entries: HistoryEntry[];
  touchedAtMs: number;
}

export interface HistoriesOptions {
  /** The store's elapsed time, in milliseconds. */
  readonly nowMs: () => number;
  /** Whether something stands under the name, so that its history is still needed. */
  readonly isInUse: (name: string) => boolean;
}

/** The last lines about each name. Times in the lines are Unix times. */
export class Histories {
  readonly #options: HistoriesOptions;
  /** Those that were touched longest ago come first. */
  readonly #byName = new Map<string, History>();

  constructor(options: HistoriesOptions) {
    this.#options = options;
  }

  /** Copies, oldest first. */
  of(name: string): HistoryEntry[] {
    return [...(this.#byName.get(name)?.entries ?? [])];
  }

  /** Adds a line, and forgets the oldest if there are too many. */
  add(name: string, entry: HistoryEntry): void {
    const entries = this.#byName.get(name)?.entries ?? [];
    entries.push(entry);
    entries.splice(0, entries.length - historyCount);
    this.#touch(name, entries);
    this.#forgetUntouched();
  }

  /** Ends the line of a term, if there is one that has not ended. */
  close(name: string, term: number, endReason: string, endedAtMs: number): void {
    this.#end(name, (entry) => entry.term === term, endReason, endedAtMs);
  }

  /** Ends every line of a term that is not `lastingTerm`: somebody removed its record. */
  closeVanished(name: string, lastingTerm: number | undefined, noticedAtMs: number): void {
    this.#end(name, (entry) => entry.term !== lastingTerm, 'vanished', noticedAtMs);
  }

  lastAct(name: string): ActEntry | undefined {
    return this.#byName
      .get(name)
      ?.entries.findLast((entry): entry is ActEntry => entry.kind === 'act');
  }

  clear(): void {
    this.#byName.clear();
  }

  /** @internal How many names have a history. */
  get nameCount(): number {
    return this.#byName.size;
  }

  #end(
    name: string,
    isMeant: (entry: TermEntry) => boolean,
    endReason: string,
    endedAtMs: number,
  ): void {
    const entries = this.#byName.get(name)?.entries ?? [];
    for (const [index, entry] of entries.entries()) {
      const isLasting = entry.kind === 'term' && entry.endedAtMs === undefined && isMeant(entry);
      if (isLasting) entries[index] = { ...entry, endedAtMs, endReason };
    }
  }

  #touch(name: string, entries: HistoryEntry[]): void {
    this.#byName.delete(name);
    this.#byName.set(name, { entries, touchedAtMs: this.#options.nowMs() });
  }

  #forgetUntouched(): void {
    const { nowMs, isInUse } = this.#options;
    const beforeMs = nowMs() - historyLifeMs;
    for (const [name, { entries, touchedAtMs }] of [...this.#byName]) {
      if (touchedAtMs > beforeMs) return;
      if (isInUse(name)) this.#touch(name, entries);
      else this.#byName.delete(name);
    }
  }
}
