import { type Runtime, realRuntime, type Timer } from '../../time/index.js';

/**
 * The border of an embedded process: everything that happens to it from outside passes here, so that it can be stopped
 * as a whole.
 *
 * While it is frozen no timer fires and no answer arrives, but time goes on, as for a process after SIGSTOP. A timer
 * that became due meanwhile fires at the thaw, and before the answers, as it would in Node's event loop. After a kill
 * nothing passes any more.
 */
export class Gate {
  readonly runtime: Runtime;
  #state: 'running' | 'frozen' | 'killed' = 'running';
  #dueTimers: { readonly fire: () => void }[] = [];
  #arrivals: (() => void)[] = [];
  readonly #timers = new Set<Timer>();

  constructor() {
    this.runtime = {
      ...realRuntime,
      setTimer: (delayMs, callback, options) => this.#setTimer(delayMs, callback, options),
    };
  }

  get isKilled(): boolean {
    return this.#state === 'killed';
  }

  freeze(): void {
    if (this.#state === 'running') this.#state = 'frozen';
  }

  thaw(): void {
    if (this.#state !== 'frozen') return;
    this.#state = 'running';
    const timers = this.#dueTimers;
    const arrivals = this.#arrivals;
    this.#dueTimers = [];
    this.#arrivals = [];
    // Each in a turn of its own: what one of them starts has its say before the next, as with real timers.
    for (const { fire } of timers) this.#inTurn(fire);
    for (const arrive of arrivals) this.#inTurn(() => this.deliver(arrive));
  }

  kill(): void {
    this.#state = 'killed';
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#dueTimers = [];
    this.#arrivals = [];
  }

  /** Runs `arrive` now, at the thaw, or never. */
  deliver(arrive: () => void): void {
    if (this.#state === 'running') arrive();
    else if (this.#state === 'frozen') this.#arrivals.push(arrive);
  }

  /** Resolves now, at the thaw, or never. */
  pass(): Promise<void> {
    return new Promise((resolve) => this.deliver(resolve));
  }

  #inTurn(act: () => void): void {
    this.#timers.add(realRuntime.setTimer(0, act));
  }

  #setTimer(...[delayMs, callback, options]: Parameters<Runtime['setTimer']>): Timer {
    if (this.#state === 'killed') return { cancel() {} };
    const due = { fire: () => {} };
    const timer = realRuntime.setTimer(delayMs, () => due.fire(), options);
    this.#timers.add(timer);
    due.fire = () => {
      this.#timers.delete(timer);
      if (this.#state === 'running') callback();
      else if (this.#state === 'frozen') this.#dueTimers.push(due);
    };
    return {
      cancel: () => {
        timer.cancel();
        this.#timers.delete(timer);
        due.fire = () => {};
      },
    };
  }
}
