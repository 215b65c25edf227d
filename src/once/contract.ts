import type { Act, CallOptions } from '../coordinators/index.js';
import type { OnceAttemptRef, OnceRecord } from './records.js';

export interface OncePromises {
  readonly store: string;
  /** What keys and results survive: the end of this process alone, or that of the store's server or machine. */
  readonly durability: 'process' | 'crash';
  /** What would make the store let an effect begin that another one has begun, or had. */
  readonly limits: string;
}

/**
 * Keeps what became of effects that cannot be fenced, by key.
 *
 * Every change compares and acts in one step: an attempt is known by the nonce of whoever began it. The time is read by
 * the store, in that step. A key whose deadline has passed is `unknown`, whether or not anybody has looked since; one
 * that has expired is as good as absent.
 *
 * Where that is a wall clock that was set back since an attempt began, the attempt has its own time once more, from the first
 * `begin`, `settle` or `unknown` that meets it: never less, since it may still run, and never longer.
 *
 * Of a key that cannot be true, as `RecordCorruptError` says, nothing is changed or begun; lists pass over it.
 *
 * Every method settles within `timeoutMs`, rejects with `UnreachableError` if nothing was executed and
 * `OutcomeUnknownError` if that cannot be told; nothing is executed after it has settled. All changes may be repeated,
 * and are durable before they resolve.
 */
export interface OnceStore {
  readonly promises: OncePromises;

  /** Begins an attempt, if the key is absent, free, or of unknown outcome and named in `repeat`. */
  begin(request: OnceBeginRequest, call: CallOptions): Promise<OnceBeginResult>;
  /** Ends an attempt, if it is still the caller's: its deadline may have passed, but nobody has settled or repeated it. */
  end(request: OnceEndRequest, call: CallOptions): Promise<OnceEndResult>;
  /** Decides about an attempt of unknown outcome, in place of whoever began it. */
  settle(request: OnceSettleRequest, call: CallOptions): Promise<OnceSettleResult>;

  /** `undefined` if nothing is known of the key. */
  read(key: string, call: CallOptions): Promise<OnceRecord | undefined>;
  /** Keys of unknown outcome, the earliest deadline first; those of one deadline in an order of the store's own. */
  unknown(options: OnceUnknownOptions, call: CallOptions): Promise<OnceRecord[]>;
  /**
   * Deletes keys that have expired, at most `limit` (1 to 1,000), and answers how many. 0 where the store does that by
   * itself.
   */
  forget(limit: number, call: CallOptions): Promise<number>;

  /** Creates what the store needs, unless it is there; absent where it needs nothing, or makes it by itself. */
  migrate?(): Promise<unknown>;

  close(): Promise<void>;
}

export interface OnceBeginRequest {
  readonly key: string;
  /** 32 random hexadecimal digits: new for every attempt, the same when the request is repeated. */
  readonly nonce: string;
  readonly startedBy: string;
  /** The attempt is `unknown` so long after the request was executed. */
  readonly timeoutMs: number;
  /** Forgets the key so long after the deadline if its outcome stays unknown. Absent: never. */
  readonly keepUnknownMs?: number | undefined;
  /** An attempt of unknown outcome that may be repeated, and who says so. */
  readonly repeat?: (OnceAttemptRef & Act) | undefined;
}

export type OnceBeginResult =
  /** The effect may be had. Also the answer to a repetition of the request that began it. */
  | { readonly outcome: 'begun'; readonly record: OnceRecord }
  | { readonly outcome: 'done'; readonly record: OnceRecord }
  | { readonly outcome: 'under-way'; readonly record: OnceRecord }
  | { readonly outcome: 'unknown'; readonly record: OnceRecord }
  /** The attempt with this nonce has ended already. */
  | { readonly outcome: 'spent'; readonly record: OnceRecord };

export interface OnceEndRequest {
  readonly key: string;
  readonly nonce: string;
  readonly end: OnceEnd;
}

/** How an attempt ends; `keepMs` is how long that is remembered. */
export type OnceEnd =
  | OnceDone
  | { readonly kind: 'not-applied'; readonly detail: string; readonly keepMs: number }
  /** `keepMs` absent: for ever. */
  | { readonly kind: 'unknown'; readonly detail: string; readonly keepMs?: number | undefined };

export interface OnceDone {
  readonly kind: 'done';
  /** JSON text. `undefined`: there is none, or it was not kept. */
  readonly result: string | undefined;
  /** Why the result was not kept. */
  readonly detail?: string | undefined;
  readonly keepMs: number;
}

export type OnceEndResult =
  | { readonly outcome: 'recorded'; readonly record: OnceRecord }
  /** Settled or begun by somebody else, or forgotten meanwhile; nothing was changed. */
  | { readonly outcome: 'superseded'; readonly record: OnceRecord | undefined };

export interface OnceSettleRequest extends Act {
  readonly key: string;
  /** New for every settlement, the same when the request is repeated. */
  readonly nonce: string;
  /** Only this attempt. Absent: whichever is of unknown outcome. */
  readonly of?: OnceAttemptRef | undefined;
  readonly end:
    | { readonly kind: 'done'; readonly result: string | undefined; readonly keepMs: number }
    | { readonly kind: 'not-applied'; readonly keepMs: number };
}

export type OnceSettleResult =
  | { readonly outcome: 'settled'; readonly record: OnceRecord }
  /** There is nothing to settle: it is absent, under way, done, free, or another attempt. */
  | { readonly outcome: 'refused'; readonly record: OnceRecord | undefined };

export interface OnceUnknownOptions {
  /** 1 to 1,000. */
  readonly limit: number;
  /** The last one of the page before. */
  readonly after?: Pick<OnceRecord, 'deadlineAtMs' | 'key'> | undefined;
}
