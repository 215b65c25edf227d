import type { Unsubscribe } from '../../events/index.js';
import type { Runtime, Timer } from '../../time/index.js';
import type { Call } from '../candidates.js';
import type { Holder } from '../holder.js';
import { groupOf } from '../names.js';

export type Wake = (name: string | undefined) => void;
export type Called = (call: Call) => void;

/**
 * Who wants to know that a name became free: those who watch its group, and those who are called as candidates.
 *
 * A timer at the next expiry runs only while somebody listens: the last one to leave takes it along.
 */
export class Watchers {
  readonly #runtime: Runtime;
  readonly #untilNextExpiryMs: () => number;
  readonly #onExpiry: () => void;
  readonly #watches = new Set<{ readonly group: string; readonly wake: Wake }>();
  readonly #candidates = new Set<{ readonly holder: Holder; readonly called: Called }>();
  #timer: Timer | undefined;

  constructor(runtime: Runtime, untilNextExpiryMs: () => number, onExpiry: () => void) {
    this.#runtime = runtime;
    this.#untilNextExpiryMs = untilNextExpiryMs;
    this.#onExpiry = onExpiry;
  }

  watch(group: string, wake: Wake): Unsubscribe {
    return this.#add(this.#watches, { group, wake });
  }

  onCalled(holder: Holder, called: Called): Unsubscribe {
    return this.#add(this.#candidates, { holder, called });
  }

  /** Wakes who watches the name's group. */
  wake(name: string): void {
    const nameGroup = groupOf(name);
    for (const { group, wake } of [...this.#watches]) {
      if (group === nameGroup) wake(name);
    }
  }

  /** Calls these holders to a name, in this order. */
  call(name: string, holders: readonly Holder[]): void {
    for (const [position, wanted] of holders.entries()) {
      for (const { holder, called } of [...this.#candidates]) {
        if (holder.equals(wanted)) called({ name, position });
      }
    }
  }

  /** Tells everybody that anything may have happened. */
  wakeAll(): void {
    for (const { wake } of [...this.#watches]) wake(undefined);
    for (const { called } of [...this.#candidates]) called({ name: undefined, position: 0 });
  }

  /** Must follow every change of a deadline. */
  rearm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#watches.size + this.#candidates.size === 0) return;
    const delayMs = this.#untilNextExpiryMs();
    if (delayMs === Number.POSITIVE_INFINITY) return;
    this.#timer = this.#runtime.setTimer(Math.max(0, delayMs), this.#onExpiry, {
      keepsProcessAlive: false,
    });
  }

  #add<Listener>(listeners: Set<Listener>, listener: Listener): Unsubscribe {
    listeners.add(listener);
    this.rearm();
    return () => {
      listeners.delete(listener);
      this.rearm();
    };
  }
}
