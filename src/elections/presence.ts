import { ClosedError } from '../errors/index.js';
import type { Unsubscribe } from '../events/index.js';
import type { Leases } from '../leases/index.js';
import type { Timer } from '../time/index.js';
import type { ResolvedElectionOptions } from './options.js';

/** A term that is over within this share of the ttl leaves no entry. */
const unseenShare = 1 / 20;

/**
 * The entry of this process among the candidates, for as long as anything here needs one: made when it has been needed for
 * a moment, or at once where somebody says so. A short term that nobody contests sends what it is acquired and released by,
 * and nothing else; the lease tells who leads then.
 */
export class Presence {
  readonly #leases: Leases;
  readonly #options: ResolvedElectionOptions;
  #holdCount = 0;
  #delay: Timer | undefined;
  #entry: ReturnType<Leases['enroll']> | undefined;
  readonly #leaving = new Set<Promise<void>>();

  constructor(leases: Leases, options: ResolvedElectionOptions) {
    this.#leases = leases;
    this.#options = options;
  }

  /** The entry is there, soon, until everybody who holds it has let go. */
  hold(): Unsubscribe {
    const { runtime } = this.#leases;
    this.#holdCount += 1;
    const afterMs = this.#options.timing.ttlMs * unseenShare;
    // The lease, or the wait for it, is what keeps the process alive.
    const quiet = { keepsProcessAlive: false };
    this.#delay ??= runtime.setTimer(afterMs, () => this.enterIfOpen(), quiet);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holdCount -= 1;
      if (this.#holdCount === 0) this.#withdraw();
    };
  }

  /** Makes the entry now, for somebody who holds it. @throws {ClosedError} if leases or store are closed. */
  enter(): void {
    const { name, eligible, preference, metadata } = this.#options;
    const standing = eligible ? 'present' : 'observing';
    this.#entry ??= this.#leases.enroll(name, { standing, preference, metadata });
  }

  /** As {@link enter}, for somebody who hears of a close by what it asks the store itself. */
  enterIfOpen(): void {
    try {
      this.enter();
    } catch (error) {
      if (!(error instanceof ClosedError)) throw error;
    }
  }

  /** Resolves when no withdrawal is under way any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#leaving);
  }

  #withdraw(): void {
    this.#delay?.cancel();
    this.#delay = undefined;
    const leaving = this.#entry?.withdraw();
    this.#entry = undefined;
    if (leaving === undefined) return;
    this.#leaving.add(leaving);
    void leaving.finally(() => this.#leaving.delete(leaving));
  }
}
