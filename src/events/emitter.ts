import { type Known, requireFunction, requireKnownName } from '../errors/checks.js';
import { tell } from './isolated.js';

/** Takes back what a subscription set up. Safe to call twice. */
export type Unsubscribe = () => void;

/**
 * Typed events with isolated listeners.
 *
 * Unlike Node's `EventEmitter`, a listener that throws, or is async and rejects, neither stops the others nor reaches the code that emitted: a
 * bug in a logger must not end a lease. Of each listener that is reported once, as a process warning named `TenureListenerWarning`.
 */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<(event: never) => void>>();
  readonly #overheard = new Map<keyof Events, Set<object>>();
  readonly #known: Known<Events> | 'any';

  /** @param known all names, so that `on` refuses every other one; `any` where they are not known before. */
  constructor(known: Known<Events> | 'any') {
    this.#known = known;
  }

  /**
   * Calls `listener` with every later event of that name, in order of subscription, synchronously.
   *
   * @throws {OptionError} for a name that no event has, or a listener that is no function: it would count as one that hears.
   */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): Unsubscribe {
    if (this.#known !== 'any') requireKnownName('event', name, this.#known, 'is told by nobody');
    requireFunction('listener', listener, `pass on('${String(name)}', (event) => { ... })`);
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

  /** As {@link on}, for a listener of our own: it is not counted. */
  overhear<Name extends keyof Events>(
    name: Name,
    listener: (event: Events[Name]) => void,
  ): Unsubscribe {
    const end = this.on(name, listener);
    const own = this.#overheard.get(name) ?? new Set();
    this.#overheard.set(name, own.add(end));
    return () => {
      own.delete(end);
      end();
    };
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    const set = this.#listeners.get(name);
    if (set === undefined) return;
    for (const listener of [...set]) tell(name, listener as (event: Events[Name]) => void, event);
  }

  /** How many listen who are not our own. */
  listenerCount(name: keyof Events): number {
    return (this.#listeners.get(name)?.size ?? 0) - (this.#overheard.get(name)?.size ?? 0);
  }

  removeAll(): void {
    this.#listeners.clear();
    this.#overheard.clear();
  }
}

/** The half of an {@link Emitter} that users see: they listen, they do not emit. */
export interface EventSource<Events extends object> {
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): Unsubscribe;
}
