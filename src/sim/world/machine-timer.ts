import type { Timer } from '../../time/index.js';
import { longestTimerMs } from '../../time/long-timer.js';
import type { Clock } from './clock.js';
import type { Action, Happening } from './queue.js';
import type { World } from './world.js';

/** Node's shortest timer. */
const shortestTimerMs = 1;

/** How many timers one incarnation has not heard of yet. */
export interface Pending {
  count: number;
}

/** The machine whose timer it is. */
export interface TimerHost {
  readonly clock: Clock;
  readonly world: World;
  readonly incarnation: number;
  readonly isPaused: boolean;
  /** Keeps a timer that is due during a pause until that is over. */
  stall(timer: MachineTimer): void;
}

/** A timer of one incarnation of a machine, as Node sets one: too long a delay is a very short one. */
export class MachineTimer implements Timer, Action {
  /** By the monotonic clock of the machine. */
  readonly dueAtMs: number;
  readonly #machine: TimerHost;
  readonly #incarnation: number;
  readonly #pending: Pending;
  #callback: (() => void) | undefined;
  #happening: Happening;

  constructor(
    machine: TimerHost,
    incarnation: number,
    pending: Pending,
    delayMs: number,
    callback: () => void,
  ) {
    const isTooLong = delayMs > longestTimerMs;
    const { clock } = machine;
    this.dueAtMs =
      clock.monotonicMs + (isTooLong ? shortestTimerMs : Math.max(delayMs, shortestTimerMs));
    this.#machine = machine;
    this.#incarnation = incarnation;
    this.#pending = pending;
    if (incarnation === machine.incarnation) {
      this.#callback = callback;
      pending.count += 1;
    }
    this.#happening = machine.world.plan(clock.trueTimeOf(this.dueAtMs), this);
  }

  cancel(): void {
    this.#end();
    this.#happening.cancel();
  }

  happen(): void {
    const callback = this.#callback;
    const { clock, world, incarnation, isPaused } = this.#machine;
    if (callback === undefined || incarnation !== this.#incarnation) return;
    if (isPaused) this.#machine.stall(this);
    // The monotonic clock stood still in a suspend, or its rate has changed.
    else if (clock.monotonicMs < this.dueAtMs - 1e-6)
      this.#happening = world.plan(clock.trueTimeOf(this.dueAtMs), this);
    else {
      this.#end();
      callback();
    }
  }

  #end(): void {
    if (this.#callback === undefined) return;
    this.#callback = undefined;
    this.#pending.count -= 1;
  }
}
