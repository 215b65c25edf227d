import { isTransient } from '../errors/index.js';
import { Backoff, elapsedMs, sleep } from '../time/index.js';
import type { Outcome } from './attempt.js';
import type { OnceEnd, OnceEndResult } from './contract.js';
import {
  EffectSupersededError,
  EffectUnknownError,
  EffectUnrecordedError,
  NotAppliedError,
  ResultNotKeptError,
} from './errors.js';
import type { OnceRecord } from './records.js';
import { detailOf, kept, resultOf } from './results.js';
import type { CallSurroundings } from './surroundings.js';

interface EndingParts extends CallSurroundings {
  readonly nonce: string;
  readonly keepMs: number;
}

/** How one attempt ended: says it to the store, and to the caller. */
export class Ending {
  readonly #record: OnceRecord;
  readonly #parts: EndingParts;

  constructor(record: OnceRecord, parts: EndingParts) {
    this.#record = record;
    this.#parts = parts;
  }

  /** @returns the result. @throws what `do` throws. */
  async say(outcome: Outcome): Promise<unknown> {
    if (outcome.kind === 'resolved') return await this.#resolved(outcome.value);
    const { error } = outcome;
    const result = await this.#told(this.#endOf(outcome));
    const isSuperseded = result?.outcome === 'superseded';
    if (isSuperseded) this.#superseded(result.record);
    if (error instanceof NotAppliedError) throw error;
    if (isSuperseded)
      throw new EffectSupersededError(this.#record, result.record, { cause: error });
    throw this.unknown('it threw', error);
  }

  /** The effect came out after its call had been answered: nobody waits for this. */
  late(outcome: Outcome): void {
    this.#tellLater(this.#endOf(outcome));
  }

  /** The error of an attempt that may have taken place. */
  unknown(why: string, cause: unknown): EffectUnknownError {
    const { key, attempt, startedBy } = this.#record;
    const detail = detailOf(cause);
    this.#parts.events.emit('unknown', { key, attempt, startedBy, isOwn: true, detail });
    return new EffectUnknownError(this.#record, why, cause);
  }

  async #resolved(value: unknown): Promise<unknown> {
    const end = this.#endOf({ kind: 'resolved', value });
    let result: OnceEndResult;
    try {
      result = await this.#insist(end);
    } catch (error) {
      this.#tellLater(end);
      throw new EffectUnrecordedError(this.#record, value, error);
    }
    if (result.outcome === 'superseded') {
      this.#superseded(result.record);
      throw new EffectSupersededError(this.#record, result.record, { value });
    }
    if (end.detail !== undefined) throw new ResultNotKeptError(this.#record, end.detail, value);
    return resultOf(result.record);
  }

  /** The effect took place: the store is told until the deadline, and for the time of a call at least. */
  async #insist(end: OnceEnd): Promise<OnceEndResult> {
    const { store, options } = this.#parts;
    const { runtime, callTimeoutMs } = options;
    const beganAt = runtime.now();
    const limitMs = Math.max(callTimeoutMs, this.#record.remainingMs);
    const backoff = new Backoff(runtime, { firstMs: 50, limitMs: 1_000 });
    for (;;) {
      const leftMs = limitMs - elapsedMs(beganAt, runtime.now());
      const timeoutMs = Math.max(1, Math.min(callTimeoutMs, leftMs));
      try {
        return await store.end(this.#request(end), { timeoutMs });
      } catch (error) {
        const pauseMs = backoff.nextMs();
        const isOver = elapsedMs(beganAt, runtime.now()) + pauseMs >= limitMs;
        if (isOver || !isTransient(error)) throw error;
        await sleep(runtime, pauseMs);
      }
    }
  }

  /** One try; what fails is said later, by the passing of the deadline at the latest. */
  async #told(end: OnceEnd): Promise<OnceEndResult | undefined> {
    const { store, options } = this.#parts;
    try {
      return await store.end(this.#request(end), { timeoutMs: options.callTimeoutMs });
    } catch {
      this.#tellLater(end);
      return undefined;
    }
  }

  #tellLater(end: OnceEnd): void {
    const { key, attempt } = this.#record;
    const { events } = this.#parts;
    const told = (result: OnceEndResult) => {
      if (result.outcome === 'superseded') this.#superseded(result.record);
      else events.emit('recordedLate', { key, attempt, record: result.record });
    };
    const failed = (reason: unknown) => events.emit('unrecorded', { key, attempt, reason });
    this.#parts.remainder.tell(this.#request(end), { told, failed });
  }

  #superseded(record: OnceRecord | undefined): void {
    const { key, attempt } = this.#record;
    this.#parts.events.emit('superseded', { key, attempt, record });
  }

  #request(end: OnceEnd) {
    return { key: this.#record.key, nonce: this.#parts.nonce, end };
  }

  #endOf(outcome: Outcome): OnceEnd {
    const { keepMs, options } = this.#parts;
    if (outcome.kind === 'resolved') return { kind: 'done', ...kept(outcome.value), keepMs };
    const detail = detailOf(outcome.error);
    return outcome.error instanceof NotAppliedError
      ? { kind: 'not-applied', detail, keepMs }
      : { kind: 'unknown', detail, keepMs: options.keepUnknownMs };
  }
}
