import { elapsedMs, type Instant, type Runtime } from '../time/index.js';

const oncePerMs = 60_000;

/** Which names have been found to have two processes of one id, so that it is told once a minute and not at every refresh. */
export class Duplicates {
  readonly #runtime: Runtime;
  readonly #toldAt = new Map<string, Instant>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Whether it is to be told now. */
  note(name: string): boolean {
    const now = this.#runtime.now();
    for (const [told, at] of this.#toldAt)
      if (elapsedMs(at, now) >= oncePerMs) this.#toldAt.delete(told);
    if (this.#toldAt.has(name)) return false;
    this.#toldAt.set(name, now);
    return true;
  }
}
