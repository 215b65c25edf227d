import type { ActEntry, HistoryEntry, TermEntry } from '../coordinators/index.js';

/** A term, with how long nobody led before it. */
export interface ElectionTerm extends TermEntry {
  /**
   * Milliseconds by the store's clock from the end of the term before to this grant. `undefined` for the first term that
   * is kept, and where that end is not known.
   */
  readonly vacantMs: number | undefined;
}

export type ElectionHistoryEntry = ElectionTerm | ActEntry;

/** Adds the vacancies to a history, oldest line first. */
export function withVacancies(entries: readonly HistoryEntry[]): ElectionHistoryEntry[] {
  let previous: TermEntry | undefined;
  return entries.map((entry) => {
    if (entry.kind === 'act') return entry;
    const endedAtMs = previous?.endedAtMs;
    previous = entry;
    // The store's clock may have been set back between the two.
    const vacantMs =
      endedAtMs === undefined ? undefined : Math.max(0, entry.grantedAtMs - endedAtMs);
    return { ...entry, vacantMs };
  });
}
