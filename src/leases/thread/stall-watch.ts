import { elapsedMs, type Instant, type Runtime, type Timer } from '../../time/index.js';
import { decodeInstant } from '../led-life.js';
import { latestGiveUpMs } from '../options.js';
import type { SharedRow } from './shared-row.js';
import type { ThreadLease } from './thread-lease.js';

export interface StallWatchOptions {
  readonly runtime: Runtime;
  /** When the main thread's event loop last turned. */
  readonly pulse: SharedRow;
  readonly stallLimitMs: number;
  /** Whether the process ends at a stall, and so may not outlive its leases without knowing. */
  readonly isFatal: boolean;
  /** Those of which the main thread does not know that they have ended. */
  readonly leases: () => Iterable<ThreadLease>;
  readonly stalled: () => void;
}

/**
 * Judges, in the renewing thread, whether the main thread still turns.
 *
 * It has stalled when its pulse is older than the limit. Where that is fatal, it has also stalled when it did not take
 * note of the end of a lease until the store may give the name away: a lease that could not be renewed is given up long
 * before, and a loop that turns hears of that and says so.
 */
export class StallWatch {
  readonly #options: StallWatchOptions;
  #timer: Timer | undefined;
  #dueAtMs = 0;

  constructor(options: StallWatchOptions) {
    this.#options = options;
  }

  /** Has to be told of each new lease; that one is gone shows by itself. */
  add(lease: ThreadLease): void {
    const now = this.#options.runtime.now();
    if (this.#timer === undefined || now.monotonicMs + this.#leftMs(lease, now) < this.#dueAtMs)
      this.#arm();
  }

  /** Until the next lease comes. */
  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    this.close();
    const { runtime } = this.#options;
    const now = runtime.now();
    const leftMs = this.#shortestLeftMs(now);
    if (leftMs === undefined) return;
    this.#dueAtMs = now.monotonicMs + leftMs;
    this.#timer = runtime.setTimer(leftMs, () => this.#judge());
  }

  /** The pulse has gone on since the timer was set, and so have the renewals; then it is set to what is left. */
  #judge(): void {
    this.#timer = undefined;
    const leftMs = this.#shortestLeftMs(this.#options.runtime.now());
    if (leftMs === 0) this.#options.stalled();
    else this.#arm();
  }

  /** `undefined` if there is nothing to watch for. */
  #shortestLeftMs(now: Instant): number | undefined {
    let shortestMs: number | undefined;
    for (const lease of this.#options.leases()) {
      if (!this.#options.isFatal && !lease.isAlive) continue;
      shortestMs = Math.min(shortestMs ?? this.#untilStallMs(now), this.#leftMs(lease, now));
    }
    return shortestMs === undefined ? undefined : Math.max(0, shortestMs);
  }

  #leftMs(lease: ThreadLease, now: Instant): number {
    if (!this.#options.isFatal) return Number.POSITIVE_INFINITY;
    return latestGiveUpMs(lease.timing.ttlMs) - elapsedMs(lease.anchor, now);
  }

  #untilStallMs(now: Instant): number {
    const { pulse, stallLimitMs } = this.#options;
    return stallLimitMs - elapsedMs(decodeInstant(pulse.read()), now);
  }
}
