import { TenureError } from '../errors/index.js';
import type { OnceRecord } from './records.js';
import { wordsOf } from './words.js';

/** What errors about an attempt have in common. */
export abstract class AttemptError extends TenureError {
  readonly key: string;
  readonly attempt: number;

  constructor(...[code, { key, attempt }, message, cause]: AttemptErrorParts) {
    super(code, message);
    this.key = key;
    this.attempt = attempt;
    // The effect's own error, as it was thrown: it is the caller's, who has to tell what it means.
    if (cause !== undefined)
      Object.defineProperty(this, 'cause', { value: cause, writable: true, configurable: true });
  }
}

type AttemptErrorParts = [
  code: TenureError['code'],
  attempt: Pick<OnceRecord, 'key' | 'attempt'>,
  message: string,
  cause?: unknown,
];

/** Somebody else has the effect of this key just now. Nothing was called; try again once `remainingMs` are over, or wait. */
export class EffectUnderWayError extends AttemptError {
  readonly startedBy: string;
  /** By the store's clock. */
  readonly remainingMs: number;

  constructor(record: OnceRecord) {
    const { key, attempt, startedBy, remainingMs } = record;
    const endsInMs = Math.ceil(remainingMs);
    super(
      'TENURE_EFFECT_UNDER_WAY',
      record,
      `the effect of "${key}" is under way: ${startedBy} began attempt ${attempt}, which has ${endsInMs} ms left. It was not called here; wait with waitMs, or try again.`,
    );
    this.startedBy = startedBy;
    this.remainingMs = remainingMs;
  }
}

/**
 * The effect of this key was begun, and nobody knows whether it took place. `cause` is what the effect threw, if that was
 * in this call; else it was an attempt before, and nothing was called.
 */
export class EffectUnknownError extends AttemptError {
  readonly startedBy: string;
  readonly startedAtMs: number;

  constructor(
    attempt: Pick<OnceRecord, 'key' | 'attempt' | 'startedBy' | 'startedAtMs'>,
    why: string,
    cause?: unknown,
  ) {
    const { key, startedBy, startedAtMs } = attempt;
    super(
      'TENURE_EFFECT_UNKNOWN',
      attempt,
      `the effect of "${key}" may have taken place: ${startedBy} began attempt ${attempt.attempt} at ${new Date(startedAtMs).toISOString()}, and ${why}. Look where it would show, then settle the key; or repeat it, if a repetition does no harm.`,
      cause,
    );
    this.startedBy = startedBy;
    this.startedAtMs = startedAtMs;
  }
}

/** The effect of this call has ended, and somebody settled or repeated the key meanwhile: it may have taken place twice. */
export class EffectSupersededError extends AttemptError {
  /** What the effect resolved with; `cause` is what it threw instead. */
  readonly value: unknown;
  /** As the key stands now; `undefined` if it was forgotten. */
  readonly record: OnceRecord | undefined;

  constructor(
    attempt: Pick<OnceRecord, 'key' | 'attempt'>,
    record: OnceRecord | undefined,
    ended: { readonly value?: unknown; readonly cause?: unknown },
  ) {
    const stands =
      record === undefined
        ? 'it was forgotten'
        : `it is ${record.state}, attempt ${record.attempt}`;
    super(
      'TENURE_EFFECT_SUPERSEDED',
      attempt,
      `attempt ${attempt.attempt} of "${attempt.key}" ended too late: the key was settled or begun anew meanwhile (${stands}), and stays so. The effect may have taken place twice; compare.`,
      ended.cause,
    );
    this.record = record;
    hide(this, ended.value);
  }
}

/** The effect took place, and the store does not know: what is left to say is said as long as this process runs. */
export class EffectUnrecordedError extends AttemptError {
  /** What the effect resolved with. */
  readonly value: unknown;

  constructor(attempt: Pick<OnceRecord, 'key' | 'attempt'>, value: unknown, cause: unknown) {
    super(
      'TENURE_EFFECT_UNRECORDED',
      attempt,
      `the effect of "${attempt.key}" took place, and the store could not be told. It is tried again while this process runs; otherwise the key becomes unknown, and has to be settled as done.`,
      cause,
    );
    hide(this, value);
  }
}

/** The effect took place, and is recorded as done; but its result could not be kept, so that nobody can be given it again. */
export class ResultNotKeptError extends AttemptError {
  /** What the effect resolved with, in the call that had it. */
  readonly value: unknown;

  constructor(attempt: Pick<OnceRecord, 'key' | 'attempt'>, why: string, value?: unknown) {
    super(
      'TENURE_RESULT_NOT_KEPT',
      attempt,
      `the effect of "${attempt.key}" is done, and its result was not kept: ${why}. Let it resolve with a small JSON value, such as the number of a receipt.`,
    );
    hide(this, value);
  }
}

/** The reason of an effect's `signal` when it takes longer than `timeoutMs`. */
export class EffectTimeoutError extends AttemptError {
  constructor(attempt: Pick<OnceRecord, 'key' | 'attempt'>, timeoutMs: number) {
    super(
      'TENURE_EFFECT_TIMEOUT',
      attempt,
      `the effect of "${attempt.key}" takes longer than its timeoutMs of ${timeoutMs} ms. Stop; unless it ends in time its outcome counts as unknown.`,
    );
  }
}

/**
 * What an effect throws to say that it did not take place, and cannot do so any more: a card that was declined, a request
 * that was never sent. The key is free again, and the call rejects with this error.
 *
 * Any other error counts as unknown. Never for a timeout, nor for a connection that broke: the request may have arrived.
 */
export class NotAppliedError extends TenureError {
  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super('TENURE_NOT_APPLIED', message);
    if (options.cause !== undefined)
      Object.defineProperty(this, 'cause', {
        value: options.cause,
        writable: true,
        configurable: true,
      });
  }
}

/** `throw notApplied(error)`: a {@link NotAppliedError} with the message of an error that proves it, which is its `cause`. */
export function notApplied(error: unknown): NotAppliedError {
  return new NotAppliedError(wordsOf(error).message, { cause: error });
}

/** Who prints an error must not print what the effect resolved with. */
function hide(error: { readonly value: unknown }, value: unknown): void {
  Object.defineProperty(error, 'value', { value, enumerable: false });
}
