import type { Instant, Runtime, Timer, TimerOptions } from '../time/index.js';

interface PendingTimer {
  readonly callback: () => void;
  timer: Timer | undefined;
}

/**
 * The clocks and timers of one of several processes in one test. It can be paused (SIGSTOP, a long collection of garbage, a
 * debugger) while the others, and time itself, go on: no timer of it fires until it is resumed.
 */
export class ProcessRuntime implements Runtime {
  readonly #machine: Runtime;
  readonly #pending = new Set<PendingTimer>();
  #due: (() => void)[] = [];
  #isPaused = false;

  /** @param machine the time of all processes, most often a {@link VirtualRuntime}. */
  constructor(machine: Runtime) {
    this.#machine = machine;
  }

  now(): Instant {
    return this.#machine.now();
  }

  random(): number {
    return this.#machine.random();
  }

  randomHex(bytes: number): string {
    return this.#machine.randomHex(bytes);
  }

  setTimer(delayMs: number, callback: () => void, options?: TimerOptions): Timer {
    const pending: PendingTimer = { callback, timer: undefined };
    const fire = () => {
      if (this.#pending.delete(pending)) callback();
    };
    this.#pending.add(pending);
    pending.timer = this.#machine.setTimer(delayMs, () => this.#whenRunning(fire), options);
    return {
      cancel: () => {
        pending.timer?.cancel();
        this.#pending.delete(pending);
      },
    };
  }

  nextTurn(callback: () => void): void {
    const turned = () => this.#whenRunning(callback);
    if (this.#machine.nextTurn === undefined) setImmediate(turned);
    else this.#machine.nextTurn(turned);
  }

  /** How many timers are pending: 0 after everything of the process was closed, or something leaks. */
  get pendingTimerCount(): number {
    return this.#pending.size;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  pause(): void {
    this.#isPaused = true;
  }

  /** What came due meanwhile fires now, in that order. */
  resume(): void {
    this.#isPaused = false;
    const due = this.#due;
    this.#due = [];
    for (const fire of due) this.#whenRunning(fire);
  }

  #whenRunning(act: () => void): void {
    if (this.#isPaused) this.#due.push(act);
    else act();
  }
}
