import type { Runtime, Timer } from '../../time/index.js';

interface Due {
  readonly deadlineMs: number;
}

/**
 * One timer for all that waits on a socket, instead of one for each: nearly every call is answered long before its deadline,
 * and to set a timer and cancel it costs more than all else that a call does here.
 *
 * The timer is set for the earliest deadline that was seen, and looks then what is still pending. What was answered meanwhile
 * leaves it set: it fires once, finds nothing that is due, and is set for what waits by then.
 */
export class EarliestDeadline<Pending extends Due> {
  readonly #runtime: Runtime;
  readonly #pending: ReadonlySet<Pending>;
  readonly #missed: (one: Pending) => void;
  #timer: Timer | undefined;
  #dueAtMs = Number.POSITIVE_INFINITY;

  /** @param missed is called with one whose deadline is over and that is pending still. */
  constructor(runtime: Runtime, pending: ReadonlySet<Pending>, missed: (one: Pending) => void) {
    this.#runtime = runtime;
    this.#pending = pending;
    this.#missed = missed;
  }

  /** Something with this deadline (monotonic) is pending now. */
  keep(deadlineMs: number, nowMs: number): void {
    if (deadlineMs < this.#dueAtMs) this.#set(deadlineMs, nowMs);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#dueAtMs = Number.POSITIVE_INFINITY;
  }

  #set(deadlineMs: number, nowMs: number): void {
    this.#timer?.cancel();
    this.#dueAtMs = deadlineMs;
    const look = () => this.#look();
    // Where something waits, its socket keeps the process alive.
    const options = { keepsProcessAlive: false };
    this.#timer = this.#runtime.setTimer(Math.max(0, deadlineMs - nowMs), look, options);
  }

  #look(): void {
    this.stop();
    let next: Pending | undefined;
    for (const one of this.#pending)
      if (next === undefined || one.deadlineMs < next.deadlineMs) next = one;
    if (next === undefined) return;
    const nowMs = this.#runtime.now().monotonicMs;
    if (next.deadlineMs <= nowMs) this.#missed(next);
    else this.#set(next.deadlineMs, nowMs);
  }
}
