import { monitorEventLoopDelay } from 'node:perf_hooks';

const resolutionMs = 10;

/**
 * How late this machine lets timers fire: what a busy one does to a measured duration is not the fault of what is
 * measured, so limits grow by it, and the reader is told.
 */
export class Lateness {
  readonly #histogram = monitorEventLoopDelay({ resolution: resolutionMs });

  constructor() {
    this.#histogram.enable();
  }

  /** The most that a timer was late since the beginning, or since {@link restart}. */
  get maxMs(): number {
    return Math.max(0, this.#histogram.max / 1e6 - resolutionMs);
  }

  restart(): void {
    this.#histogram.reset();
  }

  stop(): void {
    this.#histogram.disable();
  }

  /** Whoever is measured and whoever measures may each be late once: `toleranceMs` and twice the lateness. */
  limitMs(limitMs: number, toleranceMs: number): number {
    return limitMs + toleranceMs + 2 * this.maxMs;
  }

  /** For the reader; `undefined` on a machine that is quick enough. */
  get remark(): string | undefined {
    const lateMs = Math.round(this.maxMs);
    return lateMs < 25 ? undefined : `timers of this machine were up to ${lateMs} ms late`;
  }
}
