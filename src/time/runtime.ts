/**
 * One reading of the three clocks a lease depends on, in milliseconds.
 *
 * - `monotonicMs` never goes back and is not stepped, but stops while the machine is suspended.
 * - `uptimeMs` counts suspend as well (Linux: time since boot); its resolution is about 10 ms.
 * - `wallMs` is Unix time and may be stepped at any moment, so it is never used to measure.
 */
export interface Instant {
  readonly monotonicMs: number;
  readonly uptimeMs: number;
  readonly wallMs: number;
}

/** A timer that has not fired yet. `cancel` is safe to call at any time, any number of times. */
export interface Timer {
  cancel(): void;
}

export interface TimerOptions {
  /** `false` lets the process end while this timer is pending. Default `true`. */
  readonly keepsProcessAlive?: boolean;
}

/**
 * Where all time and randomness comes from. Nothing in tenure reads a clock, sets a timer or draws a random number
 * any other way, so that the same code runs under virtual time and a seed.
 */
export interface Runtime {
  now(): Instant;
  /** Calls `callback` once, not before `delayMs` (0 and above, fractions allowed, no upper limit) of monotonic time. */
  setTimer(delayMs: number, callback: () => void, options?: TimerOptions): Timer;
  /** A number in [0, 1), for jitter; not for secrets. */
  random(): number;
  /** `bytes` random bytes in lower-case hexadecimal; unpredictable in the real runtime. */
  randomHex(bytes: number): string;
  /** Calls `callback` when everything else that waits for a turn of the event loop has had one. Default: `setImmediate`. */
  nextTurn?(callback: () => void): void;
}

/**
 * Milliseconds that really passed between two readings: the larger of the monotonic and the uptime difference, since a
 * suspended machine stops the first and not the second.
 */
export function elapsedMs(from: Instant, to: Instant): number {
  return Math.max(to.monotonicMs - from.monotonicMs, to.uptimeMs - from.uptimeMs);
}

/** How far the wall clock was stepped between two readings: positive forward, negative back; near 0 when untouched. */
export function wallStepMs(from: Instant, to: Instant): number {
  return to.wallMs - from.wallMs - elapsedMs(from, to);
}

/**
 * Whether one reading was taken before another. The monotonic clock decides; uptime only where that stood still, as in a
 * suspend, since its own resolution of 10 ms would turn the order of close readings round.
 */
export function isBefore(one: Instant, other: Instant): boolean {
  if (one.monotonicMs !== other.monotonicMs) return one.monotonicMs < other.monotonicMs;
  return one.uptimeMs < other.uptimeMs;
}
