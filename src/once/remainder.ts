import { isTransient } from '../errors/index.js';
import { Backoff, elapsedMs, type Runtime, type Timer } from '../time/index.js';
import type { OnceEndRequest, OnceEndResult, OnceStore } from './contract.js';

export interface RemainderOptions {
  readonly store: OnceStore;
  readonly runtime: Runtime;
  readonly callTimeoutMs: number;
}

/** Exactly one of `told` and `failed` is called, once. */
interface Hearers {
  /** So long the attempt may still begin: if it is not there, it is looked for again after that. */
  readonly onWayMs?: number;
  readonly told: (result: OnceEndResult) => void;
  readonly failed: (reason: unknown) => void;
}

/** What has not been said for so long is given up. */
const patienceMs = 10 * 60_000;

/**
 * Says to the store what remains to be said of an attempt after its call was answered: how it ended, when nobody could be
 * told then; that it was not called, when the reply to its beginning was lost. All of it may be repeated.
 */
export class Remainder {
  readonly #options: RemainderOptions;
  readonly #telling = new Set<Promise<void>>();
  readonly #timers = new Map<Timer, () => void>();
  #isClosing = false;

  constructor(options: RemainderOptions) {
    this.#options = options;
  }

  /** Does not keep the process alive. */
  tell(request: OnceEndRequest, { onWayMs = 0, told, failed }: Hearers): void {
    const telling = this.#tell(request, onWayMs).then(told, failed);
    this.#telling.add(telling);
    void telling.finally(() => this.#telling.delete(telling));
  }

  async #tell(request: OnceEndRequest, onWayMs: number): Promise<OnceEndResult> {
    const { store, runtime, callTimeoutMs } = this.#options;
    const backoff = new Backoff(runtime, { firstMs: 100, limitMs: 5_000 });
    const beganAt = runtime.now();
    for (;;) {
      const elapsed = elapsedMs(beganAt, runtime.now());
      const isLast = this.#isClosing || elapsed >= patienceMs;
      let pauseMs = backoff.nextMs();
      try {
        const result = await store.end(request, { timeoutMs: callTimeoutMs });
        if (result.outcome === 'recorded' || isLast || elapsed >= onWayMs) return result;
        pauseMs = onWayMs - elapsed;
      } catch (error) {
        if (isLast || !isTransient(error)) throw error;
      }
      await this.#pause(pauseMs);
    }
  }

  #pause(durationMs: number): Promise<void> {
    if (this.#isClosing) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        this.#timers.delete(timer);
        resolve();
      };
      const timer = this.#options.runtime.setTimer(durationMs, done, { keepsProcessAlive: false });
      this.#timers.set(timer, done);
    });
  }

  /** One last try for each. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const [timer, done] of [...this.#timers]) {
      timer.cancel();
      done();
    }
    while (this.#telling.size > 0) await Promise.all([...this.#telling]);
  }
}
