import { isTransient, UnreachableError } from '../../errors/index.js';
import { type Runtime, sleep } from '../../time/index.js';
import type { Voice } from './voice.js';

const lookEveryMs = 1_000;

export interface OutageOptions {
  readonly runtime: Runtime;
  readonly voice: Pick<Voice, 'say' | 'sayOnce'>;
  /** A question that changes nothing. */
  readonly ask: () => Promise<unknown>;
  /** Nobody is told any more. */
  readonly signal: AbortSignal;
}

/** Tells that the store fails, and when it answers again: who stands by has no other sign of that for as long as another leads. */
export class Outage {
  readonly #options: OutageOptions;
  #failureCount = 0;
  #isWatched = false;

  constructor(options: OutageOptions) {
    this.#options = options;
  }

  /** @param said of the error, with what becomes of it. */
  failed(error: unknown, said: string): void {
    const { signal, voice } = this.#options;
    voice.sayOnce(said);
    this.#failureCount += 1;
    if (!(error instanceof UnreachableError) || this.#isWatched || signal.aborted) return;
    this.#isWatched = true;
    void this.#watch().finally(() => {
      this.#isWatched = false;
    });
  }

  async #watch(): Promise<void> {
    const { runtime, voice, signal } = this.#options;
    for (;;) {
      await sleep(runtime, lookEveryMs, signal);
      if (signal.aborted) return;
      const before = this.#failureCount;
      const isThere = await this.#answers();
      if (signal.aborted) return;
      if (isThere && before === this.#failureCount) {
        voice.say('the store answers again');
        return;
      }
    }
  }

  async #answers(): Promise<boolean> {
    try {
      await this.#options.ask();
      return true;
    } catch (error) {
      // A refusal is an answer.
      return !isTransient(error);
    }
  }
}
