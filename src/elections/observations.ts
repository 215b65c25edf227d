import type { Unsubscribe } from '../events/index.js';
import { isSame, type Leadership } from './observation.js';
import type { LeadershipReader } from './reader.js';

type Result = IteratorResult<Leadership, undefined>;

/**
 * What one observer sees: the state at the time it asks, or the next one that differs from what it was given last. A slow
 * one misses states in between, never the newest. Nothing is set up before the first `next()`.
 */
export class Observations implements AsyncIterableIterator<Leadership, undefined> {
  readonly #reader: LeadershipReader;
  readonly #signal: AbortSignal | undefined;
  readonly #waiting: ((result: Result) => void)[] = [];
  readonly #end = () => this.#finish();
  #given: Leadership | undefined;
  #leave: Unsubscribe | undefined;
  #isDone = false;

  constructor(reader: LeadershipReader, signal: AbortSignal | undefined) {
    this.#reader = reader;
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Result> {
    if (this.#signal?.aborted || this.#reader.isClosed) this.#finish();
    if (this.#isDone) return { done: true, value: undefined };
    this.#begin();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#give();
    });
  }

  async return(): Promise<Result> {
    this.#finish();
    return { done: true, value: undefined };
  }

  #begin(): void {
    if (this.#leave !== undefined) return;
    this.#leave = this.#reader.attend(() => this.#give());
    this.#signal?.addEventListener('abort', this.#end);
  }

  /** One state answers one question. */
  #give(): void {
    if (this.#reader.isClosed) return this.#finish();
    const leadership = this.#reader.look();
    if (leadership === undefined || isSame(this.#given, leadership)) return;
    const answer = this.#waiting.shift();
    if (answer === undefined) return;
    this.#given = leadership;
    answer({ done: false, value: leadership });
  }

  #finish(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#leave?.();
    this.#signal?.removeEventListener('abort', this.#end);
    for (const answer of this.#waiting.splice(0)) answer({ done: true, value: undefined });
  }
}
