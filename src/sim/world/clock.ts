import type { Instant } from '../../time/index.js';
import type { World } from './world.js';

export interface ClockOptions {
  /** How fast it runs: 1.001 gains a millisecond in a second. */
  readonly rate: number;
  /** For how long the machine has been up at the beginning, in milliseconds. */
  readonly bootedForMs: number;
  /** Unix time at the beginning, in milliseconds. */
  readonly wallMs: number;
}

/** The clocks of one machine: monotonic, uptime and wall clock, all run by one crystal. */
export class Clock {
  readonly #world: World;
  readonly #bootedForMs: number;
  #rate: number;
  #wallOffsetMs: number;
  /** Uptime at the last change of the rate, and when that was. */
  #uptimeMs: number;
  #sinceMs: number;
  #suspendedMs = 0;
  #suspendedAtMs: number | undefined;
  /** What was read last: within one event everybody reads the same. */
  #read: Instant | undefined;
  #readAtMs = 0;

  constructor(world: World, { rate, bootedForMs, wallMs }: ClockOptions) {
    this.#world = world;
    this.#rate = rate;
    this.#bootedForMs = bootedForMs;
    this.#uptimeMs = bootedForMs;
    this.#sinceMs = world.nowMs;
    this.#wallOffsetMs = wallMs - bootedForMs;
  }

  now(): Instant {
    const { nowMs } = this.#world;
    if (this.#read !== undefined && this.#readAtMs === nowMs) return this.#read;
    const uptimeMs = this.#uptime();
    const wallMs = uptimeMs + this.#wallOffsetMs;
    this.#read = { monotonicMs: this.#monotonic(uptimeMs), uptimeMs, wallMs };
    this.#readAtMs = nowMs;
    return this.#read;
  }

  get monotonicMs(): number {
    return this.#monotonic(this.#uptime());
  }

  get uptimeMs(): number {
    return this.#uptime();
  }

  get wallMs(): number {
    return this.#uptime() + this.#wallOffsetMs;
  }

  get rate(): number {
    return this.#rate;
  }

  /** When the monotonic clock will show this, if nothing happens to it. */
  trueTimeOf(monotonicMs: number): number {
    return this.#world.nowMs + (monotonicMs - this.monotonicMs) / this.#rate;
  }

  /** Somebody sets the wall clock forward (or back, if negative). */
  stepWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
    this.#read = undefined;
  }

  setRate(rate: number): void {
    this.#uptimeMs = this.#uptime();
    this.#sinceMs = this.#world.nowMs;
    this.#rate = rate;
    this.#read = undefined;
  }

  /** The monotonic clock stands still until {@link wake}. */
  suspend(): void {
    this.#suspendedAtMs ??= this.#uptime();
    this.#read = undefined;
  }

  wake(): void {
    if (this.#suspendedAtMs === undefined) return;
    this.#suspendedMs += this.#uptime() - this.#suspendedAtMs;
    this.#suspendedAtMs = undefined;
    this.#read = undefined;
  }

  #uptime(): number {
    return this.#uptimeMs + (this.#world.nowMs - this.#sinceMs) * this.#rate;
  }

  #monotonic(uptimeMs: number): number {
    return (this.#suspendedAtMs ?? uptimeMs) - this.#suspendedMs - this.#bootedForMs / 2;
  }
}
