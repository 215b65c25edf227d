import type { Unsubscribe } from '../../events/index.js';
import type { Runtime, Timer } from '../../time/index.js';
import { groupOf } from '../names.js';

export type Wake = (name: string | undefined) => void;

/**
 * Who wants to know that a name became free.
 *
 * A timer at the next expiry runs only while somebody watches: the last one to leave takes it along.
 */
export class Watchers {
  readonly #runtime: Runtime;
  readonly #untilNextExpiryMs: () => number;
  readonly #onExpiry: () => void;
  readonly #watches = new Set<{ readonly group: string; readonly wake: Wake }>();
  #timer: Timer | undefined;

  constructor(runtime: Runtime, untilNextExpiryMs: () => number, onExpiry: () => void) {
    this.#runtime = runtime;
    this.#untilNextExpiryMs = untilNextExpiryMs;
    this.#onExpiry = onExpiry;
  }

  add(group: string, wake: Wake): Unsubscribe {
    const watch = { group, wake };
    this.#watches.add(watch);
    this.rearm();
    return () => {
      this.#watches.delete(watch);
      this.rearm();
    };
  }

  /** Wakes who watches the name's group; without a name, everybody. */
  wake(name: string | undefined): void {
    const group = name === undefined ? undefined : groupOf(name);
    for (const watch of [...this.#watches]) {
      if (group === undefined || watch.group === group) watch.wake(name);
    }
  }

  /** Must follow every change of a deadline. */
  rearm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#watches.size === 0) return;
    const delayMs = this.#untilNextExpiryMs();
    if (delayMs === Number.POSITIVE_INFINITY) return;
    this.#timer = this.#runtime.setTimer(Math.max(0, delayMs), this.#onExpiry, {
      keepsProcessAlive: false,
    });
  }
}
