import type { Runtime } from '../../time/index.js';
import { indexRefreshTtls } from './scripts.js';

/**
 * Which names this client has lately written into their group's index.
 *
 * An entry says until when it must not be forgotten, and that moment moves with every renewal. Moving it in the store
 * each time would cost as much as the renewal itself, so it is set far ahead and moved only now and then. A name this
 * client knows nothing about is due at once.
 */
export class IndexFreshness {
  readonly #runtime: Runtime;
  readonly #freshUntilMs = new Map<string, number>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Tells of each name whether it is due now, and gathers those that are. */
  judge(): { readonly isStale: (name: string) => boolean; readonly stale: ReadonlySet<string> } {
    const nowMs = this.#runtime.now().monotonicMs;
    const stale = new Set<string>();
    const isStale = (name: string) => {
      const isDue = (this.#freshUntilMs.get(name) ?? Number.NEGATIVE_INFINITY) <= nowMs;
      if (isDue) stale.add(name);
      return isDue;
    };
    return { isStale, stale };
  }

  entered(name: string, ttlMs: number): void {
    this.#freshUntilMs.set(name, this.#runtime.now().monotonicMs + ttlMs * indexRefreshTtls);
  }

  /** The lease is not ours any more. */
  forget(name: string): void {
    this.#freshUntilMs.delete(name);
  }
}
