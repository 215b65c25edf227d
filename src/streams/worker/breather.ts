import type { Runtime } from '../../time/index.js';

/** Handlers may keep the processor for so long before timers and sockets get their turn. */
const sliceMs = 20;

/**
 * Lets the event loop turn. Handlers that await nothing real follow each other without a gap, and a shard with a long
 * log would keep renewals from being sent until its own lease is lost.
 */
export class Breather {
  readonly #runtime: Runtime;
  /** Resolves at the loop's next turn; set as soon as a message begins in this one. */
  #turn: Promise<void> | undefined;
  #sinceMs = 0;
  #readAtMs = 0;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** What the clock showed at the last look, which is at most a few statements ago in whoever has just asked. */
  get readAtMs(): number {
    return this.#readAtMs;
  }

  /** Looks at the clock. */
  read(): number {
    this.#readAtMs = this.#runtime.now().monotonicMs;
    return this.#readAtMs;
  }

  /** To await before the next message; `undefined` as long as no break is due. All runners take the same break. */
  next(): Promise<void> | undefined {
    const nowMs = this.read();
    if (this.#turn !== undefined) return nowMs - this.#sinceMs < sliceMs ? undefined : this.#turn;
    this.#sinceMs = nowMs;
    // A turn of the loop and no timer: it costs next to nothing, and ends at once where I/O turns the loop anyway.
    this.#turn = new Promise((resolve) => {
      const turned = () => {
        this.#turn = undefined;
        resolve();
      };
      if (this.#runtime.nextTurn === undefined) setImmediate(turned);
      else this.#runtime.nextTurn(turned);
    });
    return undefined;
  }
}
