import type { Known } from '../errors/checks.js';
import type { OnceRecord } from './records.js';

export interface OnceEvents {
  /** An attempt of unknown outcome: one of this process that failed or took too long, or one that was found. */
  unknown: {
    readonly key: string;
    readonly attempt: number;
    readonly startedBy: string;
    /** Whether this process began it. */
    readonly isOwn: boolean;
    readonly detail: string;
  };
  /** What was decided about one by `onUnknown`. */
  decided: {
    readonly key: string;
    readonly attempt: number;
    readonly outcome: 'done' | 'repeated';
  };
  /** An effect ended after somebody had settled or repeated its key: it may have taken place twice. */
  superseded: {
    readonly key: string;
    readonly attempt: number;
    readonly record: OnceRecord | undefined;
  };
  /**
   * How an attempt of this process ended is recorded now, after its call was answered: the effect took longer than it may, or
   * the store could not be told then (`EffectUnrecordedError`).
   */
  recordedLate: { readonly key: string; readonly attempt: number; readonly record: OnceRecord };
  /** How an attempt of this process ended could not be told to the store, and is not tried any more. */
  unrecorded: { readonly key: string; readonly attempt: number; readonly reason: unknown };
}

export const onceEventNames: Known<OnceEvents> = {
  ...{ unknown: true, decided: true, superseded: true, recordedLate: true, unrecorded: true },
};
