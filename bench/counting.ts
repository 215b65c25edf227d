import type { Coordinator } from '../src/coordinators/index.js';

export type Counts = Readonly<Record<string, number>>;

/** A coordinator that counts the requests it sends to the store, by operation. */
export class Counting {
  readonly coordinator: Coordinator;
  #counts = new Map<string, number>();

  constructor(inner: Coordinator) {
    const count = (operation: string) =>
      this.#counts.set(operation, (this.#counts.get(operation) ?? 0) + 1);
    this.coordinator = new Proxy(inner, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== 'function') return value;
        if (typeof key !== 'string' || !isRequest(key)) return value.bind(target);
        return (...args: unknown[]) => {
          count(key);
          return Reflect.apply(value, target, args) as unknown;
        };
      },
    });
  }

  /** What was counted since the last call. */
  take(): Counts {
    const counts = Object.fromEntries(this.#counts);
    this.#counts = new Map();
    return counts;
  }
}

function isRequest(operation: string): boolean {
  return !['watch', 'onCalled', 'onConnectionLost', 'close', 'on'].includes(operation);
}
