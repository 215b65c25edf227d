import { requireAwaited, requireFunction } from '../errors/checks.js';
import {
  isTransient,
  OptionError,
  OutcomeUnknownError,
  UnreachableError,
} from '../errors/index.js';
import { Backoff, elapsedMs, type Instant, type Runtime, sleep } from '../time/index.js';
import { Attempt, type Effect } from './attempt.js';
import type { OnceBeginRequest, OnceBeginResult } from './contract.js';
import { Ending } from './ending.js';
import { EffectTimeoutError, EffectUnderWayError, EffectUnknownError } from './errors.js';
import type { ResolvedEffect, UnknownDecision } from './options.js';
import type { OnceRecord } from './records.js';
import { resultOf, settledEnd } from './results.js';
import type { CallSurroundings } from './surroundings.js';

interface Begun {
  readonly answer: OnceBeginResult;
  readonly nonce: string;
  readonly sentAt: Instant;
}

/** One call of `do`: until the effect was had here, its result is there, or it is told why neither. */
export class Call<Value> {
  readonly #key: string;
  readonly #effect: Effect<Value>;
  readonly #asked: ResolvedEffect<Value>;
  readonly #around: CallSurroundings;
  readonly #runtime: Runtime;
  readonly #backoff: Backoff;

  constructor(
    key: string,
    effect: Effect<Value>,
    asked: ResolvedEffect<Value>,
    around: CallSurroundings,
  ) {
    requireAwaited('effect', effect, 'pass the function that has the effect, and do not call it');
    requireFunction('effect', effect, 'pass what has the effect');
    this.#key = key;
    this.#effect = effect;
    this.#asked = asked;
    this.#around = around;
    this.#runtime = around.options.runtime;
    this.#backoff = new Backoff(this.#runtime, { firstMs: 50, limitMs: 1_000 });
  }

  async run(): Promise<unknown> {
    const beganAt = this.#runtime.now();
    let repeat: OnceBeginRequest['repeat'];
    for (;;) {
      this.#asked.signal?.throwIfAborted();
      const begun = await this.#begin(repeat);
      const { outcome, record } = begun.answer;
      switch (outcome) {
        case 'begun':
          if (repeat !== undefined) this.#decided(record.attempt - 1, 'repeated');
          return await this.#have(begun);
        case 'done':
          return resultOf(record);
        case 'under-way':
          await this.#wait(record, beganAt);
          break;
        case 'unknown': {
          const decision = await this.#decide(record);
          if ('result' in decision) return decision.result;
          repeat = decision.repeat;
        }
      }
    }
  }

  /** A lost reply is asked for again with the same nonce, while there is time. */
  async #begin(repeat: OnceBeginRequest['repeat']): Promise<Begun> {
    const { store, options } = this.#around;
    const { timeoutMs } = this.#asked;
    const nonce = this.#runtime.randomHex(16);
    const backoff = new Backoff(this.#runtime, { firstMs: 20, limitMs: 500 });
    const sentAt = this.#runtime.now();
    const limitMs = Math.min(options.callTimeoutMs, timeoutMs);
    const { id: startedBy, keepUnknownMs } = options;
    const request = { key: this.#key, nonce, startedBy, timeoutMs, keepUnknownMs, repeat };
    for (let unknown: OutcomeUnknownError | undefined; ; ) {
      const leftMs = Math.max(1, limitMs - this.#elapsedMs(sentAt));
      try {
        return { nonce, sentAt, answer: await store.begin(request, { timeoutMs: leftMs }) };
      } catch (error) {
        if (error instanceof OutcomeUnknownError) unknown ??= error;
        const pauseMs = backoff.nextMs();
        const isOver = this.#elapsedMs(sentAt) + pauseMs >= limitMs;
        if (unknown === undefined) throw error;
        if (isOver || !isTransient(error)) {
          this.#withdraw(nonce, limitMs - this.#elapsedMs(sentAt));
          // That the last request was certainly not executed says nothing about those before.
          throw isTransient(error) ? unknown : error;
        }
        await sleep(this.#runtime, pauseMs);
      }
    }
  }

  /** @param onWayMs how long a request to begin may still be on its way. */
  #withdraw(nonce: string, onWayMs: number): void {
    const { remainder, options, events } = this.#around;
    const detail = 'it was begun, and not called: the reply came too late, or not at all';
    const end = { kind: 'not-applied', detail, keepMs: options.keepMs } as const;
    remainder.tell(
      { key: this.#key, nonce, end },
      {
        onWayMs,
        told: () => {},
        failed: (reason) => events.emit('unrecorded', { key: this.#key, attempt: 0, reason }),
      },
    );
  }

  async #have({ answer: { record }, nonce, sentAt }: Begun): Promise<unknown> {
    const { timeoutMs, keepMs, signal } = this.#asked;
    const { attempt: number } = record;
    const times = { runtime: this.#runtime, sentAt, timeoutMs, signal };
    const attempt = new Attempt({ key: this.#key, attempt: number, ...times });
    // Nothing waits between this look and the call.
    if (attempt.remainingMs === 0 || signal?.aborted === true) {
      this.#withdraw(nonce, 0);
      signal?.throwIfAborted();
      throw new UnreachableError(
        `the effect of "${this.#key}" was not called: the store answered too late to leave it any time. Allow it more with timeoutMs.`,
      );
    }
    const ending = new Ending(record, { ...this.#around, nonce, keepMs });
    const outcome = await attempt.run(this.#effect, (late) => ending.late(late));
    if (outcome !== undefined) return await ending.say(outcome);
    const cause = new EffectTimeoutError(record, timeoutMs);
    throw ending.unknown('it has not ended within its time', cause);
  }

  async #wait(record: OnceRecord, beganAt: Instant): Promise<void> {
    const { waitMs, signal } = this.#asked;
    const leftMs = waitMs - this.#elapsedMs(beganAt);
    if (leftMs <= 0) throw new EffectUnderWayError(record);
    const pauseMs = Math.min(this.#backoff.nextMs(), record.remainingMs + 1, leftMs);
    await sleep(this.#runtime, pauseMs, signal);
  }

  async #decide(
    record: OnceRecord,
  ): Promise<{ readonly result: unknown } | { readonly repeat: OnceBeginRequest['repeat'] }> {
    const { attempt, startedBy, startedAtMs, detail = 'ended nobody knows how' } = record;
    const { events, options } = this.#around;
    events.emit('unknown', { key: this.#key, attempt, startedBy, isOwn: false, detail });
    const { onUnknown } = this.#asked;
    const decision = typeof onUnknown === 'function' ? await onUnknown(record) : onUnknown;
    if (decision === 'throw') throw new EffectUnknownError(record, detail);
    const act = { by: options.id, reason: 'onUnknown' };
    if (decision === 'repeat') return { repeat: { attempt, startedAtMs, ...act } };
    return this.#settle(record, decision, act);
  }

  async #settle(
    { attempt, startedAtMs }: OnceRecord,
    decision: Exclude<UnknownDecision<Value>, string>,
    act: { readonly by: string; readonly reason: string },
  ): Promise<{ readonly result: unknown } | { readonly repeat: undefined }> {
    if (typeof decision !== 'object' || decision === null || !('done' in decision)) {
      const remedy = "let it return 'throw', 'repeat' or { done: value }";
      throw new OptionError('onUnknown', decision, 'returned no decision', remedy);
    }
    const { store, options } = this.#around;
    const end = settledEnd(decision.done, this.#asked.keepMs);
    const nonce = this.#runtime.randomHex(16);
    const settled = await store.settle(
      { key: this.#key, nonce, of: { attempt, startedAtMs }, end, ...act },
      { timeoutMs: options.callTimeoutMs },
    );
    // Somebody else decided meanwhile: their decision stands.
    if (settled.outcome === 'refused') return { repeat: undefined };
    this.#decided(attempt, 'done');
    return { result: resultOf(settled.record) };
  }

  #decided(attempt: number, outcome: 'done' | 'repeated'): void {
    this.#around.events.emit('decided', { key: this.#key, attempt, outcome });
  }

  #elapsedMs(since: Instant): number {
    return elapsedMs(since, this.#runtime.now());
  }
}
