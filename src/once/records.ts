/** What is stored of a key. All times are Unix times in milliseconds, by the store's clock. */

/**
 * - `started`: somebody was allowed to have the effect, and its deadline has not passed.
 * - `done`: the effect took place; the result is kept. Final.
 * - `unknown`: the attempt ended without saying how: it crashed, froze or failed. The effect may have taken place.
 * - `free`: the last attempt had no effect, by its own word or by that of whoever settled it. The next one may begin.
 */
export type OnceState = 'started' | 'done' | 'unknown' | 'free';

/** A key as the store shows it. */
export interface OnceRecord {
  readonly key: string;
  readonly state: OnceState;
  /** Which attempt it is: 1 for the first, one more each time the effect is begun. */
  readonly attempt: number;
  /** Who began it: the `id` of its {@link Once}. */
  readonly startedBy: string;
  /** If the store's clock was set back since: when that was found, and the attempt began to count anew. */
  readonly startedAtMs: number;
  /** From when on the attempt counts as unknown, unless it has ended before. */
  readonly deadlineAtMs: number;
  /** Until then, on the store's clock; 0 unless `started`. */
  readonly remainingMs: number;
  /** When the attempt ended, or was settled; its deadline if that has passed. Absent while `started`. */
  readonly endedAtMs?: number;
  /** When the key is forgotten, and may be begun as if it were new. Absent: never. */
  readonly expiresAtMs?: number;
  /** JSON text, of a `done` key. Absent if the effect resolved with `undefined`, or {@link detail} says why it was not kept. */
  readonly result?: string;
  /** Why the outcome is unknown, why the effect did not take place, or why the result of a `done` key was not kept. */
  readonly detail?: string;
  /** What was decided about attempts of unknown outcome, the latest last. */
  readonly settlements: readonly OnceSettlement[];
}

/** Somebody decided what an attempt of unknown outcome counts as. */
export interface OnceSettlement {
  readonly attempt: number;
  /** The effect took place; it did not; it was begun once more, whatever became of that attempt. */
  readonly outcome: 'done' | 'not-applied' | 'repeated';
  readonly by: string;
  readonly reason: string;
  readonly atMs: number;
}

/** Which attempt is meant: its number, and its time, since numbers begin anew once a key was forgotten. */
export type OnceAttemptRef = Pick<OnceRecord, 'attempt' | 'startedAtMs'>;

/** The longest result, in UTF-8 bytes of JSON. */
export const longestResultBytes = 64 * 1024;
/** The longest detail, in UTF-16 units. */
export const longestDetailLength = 1_024;
/** So many settlements are kept of a key; the earliest go. */
export const settlementCount = 10;
/** So many keys are listed, or forgotten, in one call at most. */
export const mostKeys = 1_000;
