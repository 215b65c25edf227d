import type { Runtime, Timer } from '../../time/index.js';

/** The one wait a runner can be in: before a retry, or until its lease is held again. Others can end it early. */
export class Pause {
  readonly #runtime: Runtime;
  #why: 'retry' | 'uncertain' | undefined;
  #timer: Timer | undefined;
  #resolve: () => void = () => {};

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Resolves after `durationMs` of monotonic time, or when it is ended; without a duration only when it is ended. */
  begin(why: 'retry' | 'uncertain', durationMs?: number): Promise<void> {
    return new Promise((resolve) => {
      this.#why = why;
      this.#resolve = resolve;
      if (durationMs !== undefined)
        this.#timer = this.#runtime.setTimer(durationMs, () => this.end());
    });
  }

  endIf(why: 'retry' | 'uncertain'): void {
    if (this.#why === why) this.end();
  }

  end(): void {
    this.#why = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#resolve();
  }
}
