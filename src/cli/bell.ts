import { type Runtime, sleep } from '../time/index.js';

/** A pause that a ring ends. A ring since the last pause counts, so that nothing is slept through. */
export class Bell {
  readonly #runtime: Runtime;
  #rung = new AbortController();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  readonly ring = (): void => this.#rung.abort();

  /** Ends at once when `signal` aborts. Never rejects. */
  async wait(durationMs: number, signal: AbortSignal): Promise<void> {
    await sleep(this.#runtime, durationMs, AbortSignal.any([signal, this.#rung.signal]));
    this.#rung = new AbortController();
  }
}
