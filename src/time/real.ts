import { randomBytes } from 'node:crypto';
import { uptime } from 'node:os';
import { longTimer } from './long-timer.js';
import type { Instant, Runtime, Timer, TimerOptions } from './runtime.js';

class NodeTimer implements Timer {
  readonly #handle: NodeJS.Timeout;

  constructor(delayMs: number, callback: () => void, keepsProcessAlive: boolean) {
    this.#handle = setTimeout(callback, delayMs);
    if (!keepsProcessAlive) this.#handle.unref();
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }
}

/** A suspend shows in the wall clock too, unless that is stepped back by as much; so uptime is read this often at least. */
const uptimeReadEveryMs = 100;
/** Monotonic and wall clock may drift apart by this much between two readings of uptime without a suspend. */
const driftToleranceMs = 5;

/**
 * Time since boot. Reading it costs a hundred times what the other two clocks cost (it goes through /proc), and it
 * differs from the monotonic clock only by the time spent in suspend. So the difference is kept, and measured again as
 * soon as the wall clock has moved differently from the monotonic one, or the reading is {@link uptimeReadEveryMs} old.
 */
class UptimeClock {
  #aheadMs = 0;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #wallAheadMs = 0;

  read(monotonicMs: number, wallMs: number): number {
    const wallAheadMs = wallMs - monotonicMs;
    if (
      monotonicMs - this.#readAtMs > uptimeReadEveryMs ||
      Math.abs(wallAheadMs - this.#wallAheadMs) > driftToleranceMs
    ) {
      this.#aheadMs = uptime() * 1000 - monotonicMs;
      this.#readAtMs = monotonicMs;
      this.#wallAheadMs = wallAheadMs;
    }
    return monotonicMs + this.#aheadMs;
  }
}

const uptimeClock = new UptimeClock();

/** The clocks, timers and randomness of this process. */
export const realRuntime: Runtime = {
  now(): Instant {
    const monotonicMs = performance.now();
    const wallMs = Date.now();
    return { monotonicMs, uptimeMs: uptimeClock.read(monotonicMs, wallMs), wallMs };
  },
  setTimer(delayMs: number, callback: () => void, options?: TimerOptions): Timer {
    const keepsProcessAlive = options?.keepsProcessAlive ?? true;
    const set = (stepMs: number, done: () => void) =>
      new NodeTimer(stepMs, done, keepsProcessAlive);
    return longTimer(set, delayMs, callback);
  },
  random: Math.random,
  randomHex: (bytes: number) => randomBytes(bytes).toString('hex'),
};
