import { onAbort, type Unsubscribe } from '../events/index.js';
import { isSame, type Leadership } from './observation.js';
import type { LeadershipReader } from './reader.js';

type Result = IteratorResult<Leadership, undefined>;

interface Question {
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * What one observer sees: the state at the time it asks, or the next one that differs from what it was given last. A slow
 * one misses states in between, never the newest. Nothing is set up before the first `next()`.
 */
export class Observations implements AsyncIterableIterator<Leadership, undefined> {
  readonly #reader: LeadershipReader;
  readonly #signal: AbortSignal | undefined;
  readonly #waiting: Question[] = [];
  readonly #end = () => this.#finish();
  #given: Leadership | undefined;
  #leave: Unsubscribe | undefined;
  #stopListening: Unsubscribe | undefined;
  #isDone = false;

  constructor(reader: LeadershipReader, signal: AbortSignal | undefined) {
    this.#reader = reader;
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Result> {
    if (this.#signal?.aborted) this.#finish();
    if (this.#isDone) return { done: true, value: undefined };
    this.#begin();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#give();
    });
  }

  async return(): Promise<Result> {
    this.#finish();
    return { done: true, value: undefined };
  }

  #begin(): void {
    if (this.#leave !== undefined || this.#reader.ended !== undefined) return;
    this.#leave = this.#reader.attend(() => this.#give());
    this.#stopListening = onAbort(this.#signal, this.#end);
  }

  /** One state answers one question. */
  #give(): void {
    if (this.#reader.ended !== undefined) {
      this.#finish(this.#reader.ended.error);
      return;
    }
    const leadership = this.#reader.look();
    if (leadership === undefined || isSame(this.#given, leadership)) return;
    const question = this.#waiting.shift();
    if (question === undefined) return;
    this.#given = leadership;
    question.resolve({ done: false, value: leadership });
  }

  #finish(error?: unknown): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#leave?.();
    this.#stopListening?.();
    const [first, ...rest] = this.#waiting.splice(0);
    // As of a generator that fails, the first question is answered with the error, and the others with the end.
    if (error === undefined) first?.resolve({ done: true, value: undefined });
    else first?.reject(error);
    for (const { resolve } of rest) resolve({ done: true, value: undefined });
  }
}
