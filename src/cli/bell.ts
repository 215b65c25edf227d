import { onAbort } from '../events/index.js';
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
    // Not AbortSignal.any: what it leaves on a signal that lives long stays there.
    const stopListening = onAbort(signal, this.ring);
    if (!signal.aborted) await sleep(this.#runtime, durationMs, this.#rung.signal);
    stopListening();
    this.#rung = new AbortController();
  }
}
