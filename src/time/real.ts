import { randomBytes } from 'node:crypto';
import { uptime } from 'node:os';
import type { Instant, Runtime, Timer, TimerOptions } from './runtime.js';

/** The longest delay Node's timers take; a larger one fires after 1 ms, with a warning. */
const longestTimerMs = 2 ** 31 - 1;

class RealTimer implements Timer {
  #handle: NodeJS.Timeout | undefined;

  constructor(delayMs: number, callback: () => void, keepsProcessAlive: boolean) {
    this.#arm(delayMs, callback, keepsProcessAlive);
  }

  #arm(delayMs: number, callback: () => void, keepsProcessAlive: boolean): void {
    const stepMs = Math.min(delayMs, longestTimerMs);
    this.#handle = setTimeout(() => {
      if (delayMs > stepMs) this.#arm(delayMs - stepMs, callback, keepsProcessAlive);
      else callback();
    }, stepMs);
    if (!keepsProcessAlive) this.#handle.unref();
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }
}

/** The clocks, timers and randomness of this process. */
export const realRuntime: Runtime = {
  now(): Instant {
    return { monotonicMs: performance.now(), uptimeMs: uptime() * 1000, wallMs: Date.now() };
  },
  setTimer(delayMs: number, callback: () => void, options?: TimerOptions): Timer {
    return new RealTimer(delayMs, callback, options?.keepsProcessAlive ?? true);
  },
  random: Math.random,
  randomHex: (bytes: number) => randomBytes(bytes).toString('hex'),
};
