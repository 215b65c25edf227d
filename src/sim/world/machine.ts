import type { Runtime } from '../../time/index.js';
import { longTimer } from '../../time/long-timer.js';
import { Random } from '../random.js';
import type { Clock } from './clock.js';
import { MachineTimer, type Pending } from './machine-timer.js';
import type { World } from './world.js';

/**
 * Something that runs: a process or a server, on a clock of its own.
 *
 * Paused, nothing of it runs; when it goes on, the timers that are due come first and then what arrived meanwhile, as in
 * Node. Crashed, nothing of it ever runs again: its timers never fire, what it awaits never settles. What it had sent
 * still arrives. {@link restart} begins another incarnation on the same clock.
 */
export class Machine {
  readonly id: string;
  readonly clock: Clock;
  readonly world: World;
  readonly #seed: number;
  #incarnation = 0;
  #pauseCount = 0;
  #resumedAtMs = Number.NEGATIVE_INFINITY;
  #isDown = false;
  #stalledTimers: MachineTimer[] = [];
  #inbox: (() => void)[] = [];
  #runtime: Runtime;
  #pendingTimers: Pending = { count: 0 };

  constructor(world: World, clock: Clock, seed: number, id: string) {
    this.world = world;
    this.clock = clock;
    this.#seed = seed;
    this.id = id;
    this.#runtime = this.#newRuntime();
  }

  /** Of the present incarnation. */
  get runtime(): Runtime {
    return this.#runtime;
  }

  /** 0 for the first, one more with each restart. */
  get incarnation(): number {
    return this.#incarnation;
  }

  get isDown(): boolean {
    return this.#isDown;
  }

  get isPaused(): boolean {
    return this.#pauseCount > 0;
  }

  /** When it was last paused and went on. */
  get resumedAtMs(): number {
    return this.#resumedAtMs;
  }

  /** Of the present incarnation: how many timers it has not heard of yet. */
  get pendingTimerCount(): number {
    return this.#pendingTimers.count;
  }

  /** Pauses may overlap; it goes on when the last one is over. */
  pause(): void {
    this.#pauseCount += 1;
  }

  resume(): void {
    if (this.#pauseCount === 0) return;
    this.#pauseCount -= 1;
    this.#resumedAtMs = this.world.nowMs;
    if (this.#pauseCount > 0 || this.#isDown) return;
    const timers = this.#stalledTimers.sort((one, other) => one.dueAtMs - other.dueAtMs);
    const inbox = this.#inbox;
    this.#stalledTimers = [];
    this.#inbox = [];
    for (const timer of timers) this.world.plan(this.world.nowMs, timer);
    for (const arrived of inbox) this.world.at(this.world.nowMs, () => this.deliver(arrived));
  }

  crash(): void {
    this.#isDown = true;
    this.#incarnation += 1;
    this.#stalledTimers = [];
    this.#inbox = [];
    this.#pendingTimers = { count: 0 };
  }

  restart(): void {
    this.#isDown = false;
    this.#runtime = this.#newRuntime();
  }

  /** Something arrives from outside: handled now, after a pause, or never. */
  deliver(handle: () => void): void {
    if (this.#isDown) return;
    if (this.isPaused) this.#inbox.push(handle);
    else handle();
  }

  /** A timer that is due while the machine is paused: it fires when that goes on. */
  stall(timer: MachineTimer): void {
    this.#stalledTimers.push(timer);
  }

  #newRuntime(): Runtime {
    const incarnation = this.#incarnation;
    const pending = this.#pendingTimers;
    const random = new Random(this.#seed, `${this.id}/runtime/${incarnation}`);
    const { world } = this;
    const set = (delayMs: number, callback: () => void) =>
      new MachineTimer(this, incarnation, pending, delayMs, callback);
    return {
      now: () => this.clock.now(),
      random: () => random.next(),
      randomHex: (bytes) => random.hex(bytes),
      setTimer: (delayMs, callback) => longTimer(set, delayMs, callback),
      nextTurn: (callback) => {
        world.at(world.nowMs, () => {
          if (incarnation === this.#incarnation) this.deliver(callback);
        });
      },
    };
  }
}
