import { longestTtlMs, validateHolderId } from '../coordinators/index.js';
import { type Known, requireKnown, requireMethods, requireSignal } from '../errors/checks.js';
import { OptionError } from '../errors/index.js';
import { defaultHolderId } from '../leases/options.js';
import type { Runtime } from '../time/index.js';
import { requireRuntime } from '../time/require-runtime.js';
import type { OnceStore } from './contract.js';
import type { OnceRecord } from './records.js';
import { checkDuration, checkEffectTime, checkKeep } from './requests.js';

export interface OnceOptions {
  /**
   * How long an effect may take, in milliseconds from 100 to a day, by the store's clock from the moment it begins. Whoever
   * else wants it learns that its outcome is unknown when that time is over. Default 60,000. Each call may say otherwise.
   */
  readonly timeoutMs?: number;
  /**
   * How long it is remembered that a key is done, in milliseconds from a minute to a century, by the store's clock.
   * Afterwards the effect would be called again, so it has to be longer than anybody repeats a call. Default 30 days.
   */
  readonly keepMs?: number;
  /**
   * How long an unknown outcome is remembered, likewise. Afterwards the effect is called again, without anybody having
   * looked. Default: for ever, or until it is settled.
   */
  readonly keepUnknownMs?: number;
  /** How long one call to the store may take, from 100 ms to a minute. Default 5,000. */
  readonly callTimeoutMs?: number;
  /** Who begins, in records and in acts of `onUnknown`; written like the id of a holder. Default: host name and process id. */
  readonly id?: string;
  /** Clocks, timers and randomness; for tests. Default: those of this process. */
  readonly runtime?: Runtime;
}

/** What is to become of a key whose last attempt ended nobody knows how. */
export type UnknownDecision<Value> =
  /** Reject with {@link EffectUnknownError}. */
  | 'throw'
  /** Begin it once more: for effects that do no harm twice, or whose other side recognises the key. */
  | 'repeat'
  /** It took place: this is its result. */
  | { readonly done: Value };

export interface EffectOptions<Value> {
  /** As {@link OnceOptions.timeoutMs}, for this effect. */
  readonly timeoutMs?: number;
  /** As {@link OnceOptions.keepMs}, for this effect. */
  readonly keepMs?: number;
  /**
   * How long to wait for somebody who has the effect just now, up to a day; then `EffectUnderWayError`. It is asked for
   * in growing steps of up to a second. Default 0: not at all.
   */
  readonly waitMs?: number;
  /**
   * What to do with a key of unknown outcome; a function is given it, looks (at the bank's ledger, say) and decides.
   * Not asked about the attempt of this very call. Default `throw`.
   */
  readonly onUnknown?:
    | 'throw'
    | 'repeat'
    | ((unknown: OnceRecord) => Promise<UnknownDecision<Value>>);
  /** Ends the waiting, and aborts the effect's own signal: what it does then decides. */
  readonly signal?: AbortSignal;
}

export interface ResolvedOptions {
  readonly timeoutMs: number;
  readonly keepMs: number;
  readonly keepUnknownMs: number | undefined;
  readonly callTimeoutMs: number;
  readonly id: string;
  readonly runtime: Runtime;
}

export type ResolvedEffect<Value> = Pick<ResolvedOptions, 'timeoutMs' | 'keepMs'> &
  Required<Pick<EffectOptions<Value>, 'waitMs' | 'onUnknown'>> & {
    readonly signal: AbortSignal | undefined;
  };

const methods = [
  'begin',
  'end',
  'settle',
  'read',
  'unknown',
  'forget',
  'close',
] as const satisfies (keyof OnceStore)[];

/** @throws {OptionError} */
export function requireStore(store: OnceStore): OnceStore {
  const remedy = 'pass what postgresOnce, redisOnce, sqliteOnce or memoryOnce returns';
  return requireMethods('store', store, methods, 'is not a store of keys', remedy);
}

const effectKeys: Known<EffectOptions<unknown>> = {
  timeoutMs: true,
  keepMs: true,
  waitMs: true,
  onUnknown: true,
  signal: true,
};

const onceKeys: Known<OnceOptions> = {
  timeoutMs: true,
  keepMs: true,
  keepUnknownMs: true,
  callTimeoutMs: true,
  id: true,
  runtime: true,
};

/** @throws {OptionError} */
export function resolveOptions(options: OnceOptions): ResolvedOptions {
  const {
    timeoutMs = 60_000,
    keepMs = 30 * longestTtlMs,
    keepUnknownMs,
    callTimeoutMs = 5_000,
    id = defaultHolderId(),
  } = requireKnown('options', options, onceKeys);
  if (keepUnknownMs !== undefined) checkKeep('keepUnknownMs', keepUnknownMs);
  return {
    timeoutMs: checkEffectTime(timeoutMs),
    keepMs: checkKeep('keepMs', keepMs),
    keepUnknownMs,
    callTimeoutMs: checkDuration('callTimeoutMs', callTimeoutMs, 100, 60_000),
    id: validateHolderId(id, 'id'),
    runtime: requireRuntime(options.runtime),
  };
}

/** @throws {OptionError} */
export function resolveEffect<Value>(
  options: EffectOptions<Value>,
  base: ResolvedOptions,
): ResolvedEffect<Value> {
  const {
    timeoutMs = base.timeoutMs,
    keepMs = base.keepMs,
    waitMs = 0,
    onUnknown = 'throw',
    signal,
  } = requireKnown('options', options, effectKeys);
  requireSignal(signal);
  if (onUnknown !== 'throw' && onUnknown !== 'repeat' && typeof onUnknown !== 'function') {
    const remedy = "use 'throw', 'repeat' or a function";
    throw new OptionError('onUnknown', onUnknown, 'is no such decision', remedy);
  }
  return {
    timeoutMs: checkEffectTime(timeoutMs),
    keepMs: checkKeep('keepMs', keepMs),
    waitMs: checkDuration('waitMs', waitMs, 0, longestTtlMs),
    onUnknown,
    signal,
  };
}
