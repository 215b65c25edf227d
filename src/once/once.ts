import type { Act } from '../coordinators/index.js';
import { type Known, requireKnown } from '../errors/checks.js';
import { ClosedError } from '../errors/index.js';
import { Emitter, type EventSource, type Unsubscribe } from '../events/index.js';
import type { Effect } from './attempt.js';
import { Call } from './call.js';
import type { OnceStore, OnceUnknownOptions } from './contract.js';
import { type OnceEvents, onceEventNames } from './events.js';
import {
  type EffectOptions,
  type OnceOptions,
  type ResolvedOptions,
  requireStore,
  resolveEffect,
  resolveOptions,
} from './options.js';
import type { OnceAttemptRef, OnceRecord } from './records.js';
import { Remainder } from './remainder.js';
import { checkLimit, validateKey } from './requests.js';
import { settlementOf } from './results.js';

export interface SettleOptions extends Act {
  /** Only this attempt, as it was read. Default: whichever is of unknown outcome when it is settled. */
  readonly of?: OnceAttemptRef;
}

const settleKeys: Known<SettleOptions> = { by: true, reason: true, of: true };

/**
 * Effects that cannot be fenced (a payment, a mail), each at most once per key as far as that can be known, whoever calls
 * for it in how many processes.
 *
 * ```ts
 * const once = new Once(postgresOnce('postgres://localhost/shop'));
 * const receipt = await once.do('charge/order-17', ({ key, signal }) => charge(order, { idempotencyKey: key, signal }));
 * ```
 *
 * The store remembers that an effect was begun before it is called, and its result afterwards. If a process ends or freezes
 * in between, nobody can know whether the effect took place: the key is *unknown*, and never silently begun again.
 * A process that freezes right before the call and wakes after the deadline still calls: send the key along, so
 * that the other side can recognise it.
 */
export class Once implements EventSource<OnceEvents> {
  readonly store: OnceStore;
  readonly #options: ResolvedOptions;
  readonly #events = new Emitter<OnceEvents>(onceEventNames);
  readonly #remainder: Remainder;
  readonly #calls = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  /** @throws {OptionError} */
  constructor(store: OnceStore, options: OnceOptions = {}) {
    this.store = requireStore(store);
    this.#options = resolveOptions(options);
    const { runtime, callTimeoutMs } = this.#options;
    this.#remainder = new Remainder({ store, runtime, callTimeoutMs });
  }

  on<Name extends keyof OnceEvents>(
    name: Name,
    listener: (event: OnceEvents[Name]) => void,
  ): Unsubscribe {
    return this.#events.on(name, listener);
  }

  /**
   * Has the effect, unless it was had before, and resolves with its result: as JSON keeps it, the first time too. A result
   * takes at most 64 KiB of JSON; `undefined` is kept as such.
   *
   * @param key names the effect, not the attempt: 1 to 255 bytes of UTF-8 without control characters. Of one that is sent
   * as a header, printable ASCII without spaces.
   * @param effect is called at most once in this call. What it throws counts as an unknown outcome, unless it is a
   * {@link NotAppliedError}, which frees the key.
   *
   * @throws {EffectUnderWayError} Somebody has it just now; nothing was called.
   * @throws {EffectUnknownError} It may have taken place: in an attempt before, or in this call, whose error is the `cause`.
   * @throws {NotAppliedError} as the effect threw it.
   * @throws {EffectUnrecordedError} It took place, and the store does not know yet; the error has its `value`.
   * @throws {EffectSupersededError} It ended after the key was settled or repeated.
   * @throws {ResultNotKeptError} It took place, and its result cannot be given.
   * @throws {UnreachableError}, {@link OutcomeUnknownError} and others of the store: nothing was called.
   * @throws {OptionError} @throws {ClosedError} and the reason of your own `signal`, if it aborts before the call.
   */
  async do<Value>(
    key: string,
    effect: Effect<Value>,
    options: EffectOptions<Value> = {},
  ): Promise<Value> {
    this.#throwIfClosed();
    const call = new Call(validateKey(key), effect, resolveEffect(options, this.#options), {
      store: this.store,
      options: this.#options,
      remainder: this.#remainder,
      events: this.#events,
    });
    const running = call.run();
    this.#calls.add(running);
    try {
      return (await running) as Value;
    } finally {
      this.#calls.delete(running);
    }
  }

  /** What is known of a key; `undefined`: nothing. @throws {OptionError} and the errors of the store. */
  async read(key: string): Promise<OnceRecord | undefined> {
    this.#throwIfClosed();
    return this.store.read(key, this.#call);
  }

  /**
   * Keys of unknown outcome, those with the earliest deadlines first: what somebody has to look at.
   *
   * @param options up to 1,000 of them (default 100), `after` the last one of the page before.
   * @throws {OptionError} and the errors of the store.
   */
  async unknown(options: Partial<OnceUnknownOptions> = {}): Promise<OnceRecord[]> {
    this.#throwIfClosed();
    requireKnown('options', options, { limit: true, after: true });
    return this.store.unknown({ limit: 100, ...options }, this.#call);
  }

  /**
   * Decides about a key of unknown outcome: its effect took place (with this result), or it did not, and the key is free.
   * Who decided and why is kept with the key. If the attempt still runs somewhere, it is told when it ends.
   *
   * @returns whether it was settled, and the key as it stands: under way, done, free or another attempt is not settled.
   * @throws {OptionError} and the errors of the store.
   */
  async settle(
    key: string,
    outcome: 'not-applied' | { readonly done: unknown },
    act: SettleOptions,
  ): Promise<{ readonly isSettled: boolean; readonly record: OnceRecord | undefined }> {
    this.#throwIfClosed();
    const { runtime, keepMs } = this.#options;
    const { by, reason, of } = requireKnown('act', act, settleKeys, 'pass { by, reason }');
    const end = settlementOf(outcome, keepMs);
    const request = { key, nonce: runtime.randomHex(16), of, end, by, reason };
    const settled = await this.store.settle(request, this.#call);
    return { isSettled: settled.outcome === 'settled', record: settled.record };
  }

  /**
   * Creates the tables that the store needs, unless they are there: in PostgreSQL; the others need none, or make them by
   * themselves. Safe at every start, by many processes at once. `tenure migrate` does the same.
   *
   * @throws {StoreMisconfiguredError} if the role may not create them, or a newer tenure has.
   */
  async migrate(): Promise<void> {
    this.#throwIfClosed();
    await this.store.migrate?.();
  }

  /**
   * Deletes keys that have expired, a batch of up to `limit` (1 to 1,000) at a time; call it now and then until it answers
   * 0. They count for nothing before that, too. Redis does it by itself.
   *
   * @throws {OptionError} and the errors of the store.
   */
  async forgetExpired(limit = 500): Promise<number> {
    this.#throwIfClosed();
    return this.store.forget(checkLimit(limit), this.#call);
  }

  /**
   * Takes no more calls, waits for those under way (each has its deadline), tries once more to say what the store does not
   * know yet, and closes the store.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled([...this.#calls]);
    await this.#remainder.close();
    await this.store.close();
    this.#events.removeAll();
  }

  get #call(): { readonly timeoutMs: number } {
    return { timeoutMs: this.#options.callTimeoutMs };
  }

  #throwIfClosed(): void {
    if (this.#closing !== undefined) throw new ClosedError('this Once');
  }
}
