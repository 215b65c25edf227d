import type { Unsubscribe } from '../events/index.js';
import type { Leases } from '../leases/index.js';
import type { ResolvedElectionOptions } from './options.js';

/** The entry of this process among the candidates, for as long as anything here needs one. */
export class Presence {
  readonly #leases: Leases;
  readonly #options: ResolvedElectionOptions;
  #holdCount = 0;
  #entry: ReturnType<Leases['enroll']> | undefined;
  readonly #leaving = new Set<Promise<void>>();

  constructor(leases: Leases, options: ResolvedElectionOptions) {
    this.#leases = leases;
    this.#options = options;
  }

  /** The entry is there until everybody who holds it has let go. */
  hold(): Unsubscribe {
    this.#holdCount += 1;
    const { name, eligible, preference, metadata } = this.#options;
    const standing = eligible ? 'present' : 'observing';
    this.#entry ??= this.#leases.enroll(name, { standing, preference, metadata });
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holdCount -= 1;
      if (this.#holdCount === 0) this.#withdraw();
    };
  }

  /** Resolves when no withdrawal is under way any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#leaving);
  }

  #withdraw(): void {
    const leaving = this.#entry?.withdraw();
    this.#entry = undefined;
    if (leaving === undefined) return;
    this.#leaving.add(leaving);
    void leaving.finally(() => this.#leaving.delete(leaving));
  }
}
