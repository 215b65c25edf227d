/** A line of a name's history. Times are Unix times by the store's clock. */
export type HistoryEntry = TermEntry | ActEntry;

/** Somebody held the name for one term. */
export interface TermEntry {
  readonly kind: 'term';
  readonly term: number;
  readonly holderId: string;
  readonly grantedAtMs: number;
  /** `undefined` while it lasts. For a term that expired, its deadline in the store. */
  readonly endedAtMs: number | undefined;
  /**
   * `expired`, `vanished` (somebody removed the record), `handed-off`, `revoked`, or what the release gave as its reason;
   * `undefined` while it lasts.
   */
  readonly endReason: string | undefined;
}

/** An operator did something. */
export interface ActEntry {
  readonly kind: 'act';
  readonly act: 'revoke' | 'suspend' | 'resume';
  readonly by: string;
  readonly reason: string;
  readonly atMs: number;
  /** The successor that was named. */
  readonly to?: string;
}

export function isActWord(value: unknown): value is ActEntry['act'] {
  return value === 'revoke' || value === 'suspend' || value === 'resume';
}

/** How many lines are kept of a name. */
export const historyCount = 100;
/** How long the lines of a name that nobody uses are kept: random names must not fill a store. 30 days. */
export const historyLifeMs = 30 * 24 * 60 * 60 * 1000;
