import { requireKnown } from '../errors/checks.js';
import type { Instant, Runtime, Timer } from './runtime.js';

interface PendingTimer {
  readonly dueAtMs: number;
  readonly order: number;
  readonly callback: () => void;
}

export interface VirtualRuntimeOptions {
  /** One seed, one sequence of random numbers. A 32-bit unsigned integer; default 1. */
  readonly seed?: number;
  /** Unix time at the start, in milliseconds. Default 2026-01-01T00:00:00Z. */
  readonly wallMs?: number;
}

/** A delay that vanished in rounding would let a timer set itself again for ever without time moving. */
const shortestDelayMs = 0.001;

/**
 * A runtime whose time stands still until a test moves it.
 *
 * Timers fire in order of their due time, then of creation. Between two timers every promise that can settle without
 * real input or output settles, so code under test sees the order it would see on a fast machine.
 */
export class VirtualRuntime implements Runtime {
  #monotonicMs = 0;
  #suspendedMs = 0;
  #wallOffsetMs: number;
  #order = 0;
  #randomState: number;
  readonly #timers = new Set<PendingTimer>();

  constructor(options: VirtualRuntimeOptions = {}) {
    requireKnown('options', options, { seed: true, wallMs: true });
    this.#randomState = (options.seed ?? 1) >>> 0;
    this.#wallOffsetMs = options.wallMs ?? Date.UTC(2026, 0, 1);
  }

  now(): Instant {
    const uptimeMs = this.#monotonicMs + this.#suspendedMs;
    return { monotonicMs: this.#monotonicMs, uptimeMs, wallMs: uptimeMs + this.#wallOffsetMs };
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const timer = {
      dueAtMs: this.#monotonicMs + (delayMs > 0 ? Math.max(delayMs, shortestDelayMs) : 0),
      order: this.#order++,
      callback,
    };
    this.#timers.add(timer);
    return {
      cancel: () => {
        this.#timers.delete(timer);
      },
    };
  }

  /** Mulberry32: small, fast, and the same numbers for the same seed on every platform. */
  random(): number {
    this.#randomState = (this.#randomState + 0x6d2b79f5) >>> 0;
    let mixed = this.#randomState;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  randomHex(bytes: number): string {
    let text = '';
    for (let index = 0; index < bytes; index++) {
      text += Math.floor(this.random() * 256)
        .toString(16)
        .padStart(2, '0');
    }
    return text;
  }

  /** How many timers are pending: 0 after everything was closed, or something leaks. */
  get pendingTimerCount(): number {
    return this.#timers.size;
  }

  /** Lets promises settle without moving time. */
  async settle(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }

  /** Moves time forward by `durationMs`, firing each timer at its due time. */
  async advance(durationMs: number): Promise<void> {
    const targetMs = this.#monotonicMs + durationMs;
    await this.settle();
    for (
      let timer = this.#nextDue(targetMs);
      timer !== undefined;
      timer = this.#nextDue(targetMs)
    ) {
      this.#monotonicMs = Math.max(this.#monotonicMs, timer.dueAtMs);
      this.#timers.delete(timer);
      timer.callback();
      await this.settle();
    }
    this.#monotonicMs = targetMs;
    await this.settle();
  }

  /** Advances until `promise` settles and returns its value; gives up with an error after `limitMs` of virtual time. */
  async advanceUntil<T>(promise: Promise<T>, limitMs = 600_000): Promise<T> {
    let settled = false;
    const done = () => {
      settled = true;
    };
    promise.then(done, done);
    const startedAtMs = this.#monotonicMs;
    await this.settle();
    while (!settled) {
      const timer = this.#nextDue(startedAtMs + limitMs);
      if (timer === undefined) throw new Error(`not settled within ${limitMs} ms of virtual time`);
      await this.advance(Math.max(0, timer.dueAtMs - this.#monotonicMs));
    }
    return promise;
  }

  /**
   * The process is stopped for `durationMs` (SIGSTOP, a long stall): every clock goes on, nothing runs. No timer fires
   * until the next `advance`, so a test can look at what the first statement after waking sees.
   */
  freeze(durationMs: number): void {
    this.#monotonicMs += durationMs;
  }

  /** The machine is suspended for `durationMs`: uptime and wall clock go on, the monotonic clock does not. */
  suspend(durationMs: number): void {
    this.#suspendedMs += durationMs;
  }

  /** Somebody sets the wall clock forward (or back, if negative). */
  stepWall(stepMs: number): void {
    this.#wallOffsetMs += stepMs;
  }

  #nextDue(limitMs: number): PendingTimer | undefined {
    let next: PendingTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueAtMs > limitMs) continue;
      if (
        next === undefined ||
        timer.dueAtMs < next.dueAtMs ||
        (timer.dueAtMs === next.dueAtMs && timer.order < next.order)
      ) {
        next = timer;
      }
    }
    return next;
  }
}
