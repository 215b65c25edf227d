import type { Runtime, Timer } from '../time/index.js';
import { Latch } from './latch.js';

export interface RunningWorkOptions {
  readonly runtime: Runtime;
  readonly drainMs: number;
  /** It has not stopped `drainMs` after it was first told to. Called once. */
  readonly overdue: () => void;
}

/**
 * Work that is under way, and how long it is waited for once it was told to stop: for `drainMs`; after that it is overdue,
 * and waited for as long as nobody sets a limit. Once it has settled there are no timers any more, nor will there be.
 */
export class RunningWork {
  readonly settled = new Latch();
  /** Overdue, and past the limit: nobody waits for it any more. */
  readonly abandoned = new Latch();
  readonly #options: RunningWorkOptions;
  #isOverdue = false;
  #limitMs: number | undefined;
  #drain: Timer | undefined;
  #abandonment: Timer | undefined;

  constructor(options: RunningWorkOptions) {
    this.#options = options;
  }

  /** It was told to. The first time counts. */
  stop(): void {
    if (this.settled.isOpen) return;
    const { runtime, drainMs } = this.#options;
    this.#drain ??= runtime.setTimer(drainMs, () => this.#drainIsOver());
  }

  /** Nobody waits for it any more once it is overdue and `limitMs` more have passed. The first limit counts. */
  abandonAfter(limitMs: number): void {
    this.#limitMs ??= limitMs;
    if (this.#isOverdue) this.#limit();
  }

  settle(): void {
    this.settled.open();
    this.#drain?.cancel();
    this.#abandonment?.cancel();
  }

  #drainIsOver(): void {
    this.#isOverdue = true;
    this.#limit();
    this.#options.overdue();
  }

  #limit(): void {
    if (this.#limitMs === undefined || this.settled.isOpen) return;
    this.#abandonment ??= this.#options.runtime.setTimer(this.#limitMs, () =>
      this.abandoned.open(),
    );
  }
}
