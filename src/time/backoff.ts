import type { Runtime } from './runtime.js';

export interface BackoffOptions {
  /** The first pause is drawn from [firstMs / 2, firstMs]. */
  readonly firstMs: number;
  /** No pause is longer than this. */
  readonly limitMs: number;
}

/** Growing pauses with jitter: doubles from `firstMs` to `limitMs`, each drawn from the upper half of its range. */
export class Backoff {
  readonly #runtime: Runtime;
  readonly #options: BackoffOptions;
  #failureCount = 0;

  constructor(runtime: Runtime, options: BackoffOptions) {
    this.#runtime = runtime;
    this.#options = options;
  }

  /** The pause before the next try, in milliseconds. Each call counts as one more failure. */
  nextMs(): number {
    const ceilingMs = Math.min(
      this.#options.limitMs,
      this.#options.firstMs * 2 ** this.#failureCount,
    );
    this.#failureCount += 1;
    return ceilingMs * (0.5 + this.#runtime.random() / 2);
  }

  /** After a success: the next pause is short again. */
  reset(): void {
    this.#failureCount = 0;
  }
}
