import { askable } from '../errors/thrown.js';
import { onAbort } from '../events/index.js';
import { elapsedMs, type Instant, type Runtime } from '../time/index.js';
import { EffectTimeoutError } from './errors.js';

/** What an effect is given. */
export interface EffectContext {
  readonly key: string;
  /** 1, or more if an earlier attempt was repeated or had no effect. The key is the same in all of them. */
  readonly attempt: number;
  /** Aborts a little before the store counts the attempt as unknown, or with the signal of the call. */
  readonly signal: AbortSignal;
  /** How long until then, in milliseconds by this process's clock; right in the first statement after a freeze. */
  readonly remainingMs: number;
}

export type Effect<Value> = (context: EffectContext) => Promise<Value> | Value;

/** How an effect came out. */
export type Outcome =
  | { readonly kind: 'resolved'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown };

interface AttemptParts {
  readonly key: string;
  readonly attempt: number;
  readonly runtime: Runtime;
  /** Before the request was sent that began it: the store's time runs from a later moment. */
  readonly sentAt: Instant;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** One attempt to have an effect, and its time. */
export class Attempt {
  readonly #parts: AttemptParts;

  constructor(parts: AttemptParts) {
    this.#parts = parts;
  }

  /** Until the effect should stop: the store's deadline comes later, by what clocks differ and what stopping takes. */
  get remainingMs(): number {
    const { timeoutMs } = this.#parts;
    return Math.max(0, timeoutMs - marginOf(timeoutMs) - this.#elapsedMs());
  }

  /**
   * Calls the effect.
   *
   * @returns how it came out; `undefined` if it has not until the store's deadline. It goes on then, and `late` is told.
   */
  run(effect: Effect<unknown>, late: (outcome: Outcome) => void): Promise<Outcome | undefined> {
    const { runtime, timeoutMs, signal: own } = this.#parts;
    const ending = new AbortController();
    const overtime = () => ending.abort(new EffectTimeoutError(this.#parts, timeoutMs));
    const leave = onAbort(own, () => ending.abort(own?.reason));
    const timers = [runtime.setTimer(this.remainingMs, overtime)];
    return new Promise((resolve) => {
      let isOver = false;
      const over = (outcome: Outcome | undefined) => {
        for (const timer of timers) timer.cancel();
        leave();
        isOver = true;
        resolve(outcome);
      };
      const limitMs = Math.max(0, timeoutMs - this.#elapsedMs());
      timers.push(runtime.setTimer(limitMs, () => over(undefined)));
      void this.#call(effect, ending.signal).then((outcome) => {
        if (isOver) late(outcome);
        else over(outcome);
      });
    });
  }

  async #call(effect: Effect<unknown>, signal: AbortSignal): Promise<Outcome> {
    const { key, attempt } = this.#parts;
    const remaining = () => this.remainingMs;
    const context: EffectContext = {
      ...{ key, attempt, signal },
      get remainingMs() {
        return remaining();
      },
    };
    try {
      return { kind: 'resolved', value: await effect(context) };
    } catch (error) {
      return { kind: 'threw', error: askable(error) };
    }
  }

  #elapsedMs(): number {
    const { runtime, sentAt } = this.#parts;
    return elapsedMs(sentAt, runtime.now());
  }
}

/** A tenth, up to a second: to stop in and to say how it ended, and for clocks that run differently (1 %). */
function marginOf(timeoutMs: number): number {
  return Math.max(Math.min(timeoutMs / 10, 1_000), timeoutMs / 100);
}
