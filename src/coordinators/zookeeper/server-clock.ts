import type { Runtime } from '../../time/index.js';

/** A reading that is newer than this many ms is kept, if it is the more precise one. */
const freshMs = 5_000;

/**
 * The leader's Unix time, told by what it writes into nodes.
 *
 * Never ahead of the leader: the time in an answer was read before the answer came. So nothing that waits for a moment on
 * this clock goes on too early, unless the leader's clock was stepped, or a new leader has another one. It goes on by the
 * monotonic clock alone, which stands still while the machine is suspended: after that it is late, and never early.
 */
export class ServerClock {
  readonly #runtime: Runtime;
  #aheadMs: number | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** To be called when the answer comes that carries the time. */
  learn(serverMs: number): void {
    const nowMs = this.#runtime.now().monotonicMs;
    const aheadMs = serverMs - nowMs;
    const isMorePrecise = this.#aheadMs === undefined || aheadMs > this.#aheadMs;
    if (!isMorePrecise && this.isFresh) return;
    this.#aheadMs = aheadMs;
    this.#readAtMs = nowMs;
  }

  /** Another server, another clock. */
  forget(): void {
    this.#aheadMs = undefined;
    this.#readAtMs = Number.NEGATIVE_INFINITY;
  }

  get isFresh(): boolean {
    return this.#runtime.now().monotonicMs - this.#readAtMs < freshMs;
  }

  nowMs(): number {
    const { monotonicMs, wallMs } = this.#runtime.now();
    return this.#aheadMs === undefined ? wallMs : Math.floor(monotonicMs + this.#aheadMs);
  }
}
