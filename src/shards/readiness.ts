import { Backoff, elapsedMs, type Instant, type Runtime } from '../time/index.js';

const firstPauseMs = 1_000;
const longestPauseMs = 60_000;

/**
 * Whether the work of this process can begin on a shard, as far as one can tell from how it went.
 *
 * After a failed begin the worker takes nothing for a while and says so (`joining`), so that the others take its share.
 * Then it tries again, each shard by itself: one that can begin nowhere does not hold up the rest.
 */
export class Readiness {
  readonly #runtime: Runtime;
  readonly #backoff: Backoff;
  #pause: { readonly from: Instant; readonly forMs: number } | undefined;
  #isCareful = false;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#backoff = new Backoff(runtime, { firstMs: firstPauseMs, limitMs: longestPauseMs });
  }

  /** Shards are to begin one by one. */
  get isCareful(): boolean {
    return this.#isCareful;
  }

  /** Milliseconds until shards may be claimed again; 0 if they may. */
  get pauseMs(): number {
    if (this.#pause === undefined) return 0;
    return Math.max(0, this.#pause.forMs - elapsedMs(this.#pause.from, this.#runtime.now()));
  }

  beginFailed(): void {
    this.#isCareful = true;
    // Shards that fail one by one in the same moment are one failure.
    if (this.pauseMs > 0) return;
    this.#pause = { from: this.#runtime.now(), forMs: this.#backoff.nextMs() };
  }

  begun(): void {
    if (this.pauseMs > 0) return;
    this.#isCareful = false;
    this.#backoff.reset();
  }
}
