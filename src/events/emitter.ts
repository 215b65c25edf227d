import { type Known, requireKnownName } from '../errors/checks.js';

/** Takes back what a subscription set up. Safe to call twice. */
export type Unsubscribe = () => void;

/**
 * Typed events with isolated listeners.
 *
 * Unlike Node's `EventEmitter`, a listener that throws, or is async and rejects, neither stops the others nor reaches the code that emitted: a
 * bug in a logger must not end a lease. It is reported as a process warning named `TenureListenerWarning`.
 */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<(event: never) => void>>();
  readonly #known: Known<Events> | undefined;

  /** @param known all names, if `on` is to refuse every other one. Default: whatever somebody listens to is taken. */
  constructor(known?: Known<Events>) {
    this.#known = known;
  }

  /**
   * Calls `listener` with every later event of that name, in order of subscription, synchronously.
   *
   * @throws {OptionError} for a name that no event has, where the names are known.
   */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): Unsubscribe {
    if (this.#known !== undefined)
      requireKnownName('event', name, this.#known, 'is told by nobody');
    const own = (event: Events[Name]) => listener(event);
    let set = this.#listeners.get(name);
    if (set === undefined) {
      set = new Set();
      this.#listeners.set(name, set);
    }
    set.add(own);
    return () => {
      set.delete(own);
      if (set.size === 0 && this.#listeners.get(name) === set) this.#listeners.delete(name);
    };
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    const set = this.#listeners.get(name);
    if (set === undefined) return;
    for (const listener of [...set]) {
      try {
        const returned: unknown = (listener as (event: Events[Name]) => unknown)(event);
        // An async listener throws later, and would end the process as an unhandled rejection.
        if (returned instanceof Promise) returned.catch((error: unknown) => warn(name, error));
      } catch (error) {
        warn(name, error);
      }
    }
  }

  listenerCount(name: keyof Events): number {
    return this.#listeners.get(name)?.size ?? 0;
  }

  removeAll(): void {
    this.#listeners.clear();
  }
}

function warn(name: PropertyKey, error: unknown): void {
  const why = error instanceof Error ? error.message : String(error);
  process.emitWarning(`a listener for "${String(name)}" threw: ${why}`, 'TenureListenerWarning');
}

/** The half of an {@link Emitter} that users see: they listen, they do not emit. */
export interface EventSource<Events extends object> {
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): Unsubscribe;
}
