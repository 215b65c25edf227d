import { isCredibleTerm } from '../coordinators/index.js';
import { Backoff, elapsedMs, type Instant, type Runtime } from '../time/index.js';

const firstPauseMs = 1_000;
const longestPauseMs = 60_000;

interface Refusal {
  /** The highest term that was in the way; 0 if it was none. */
  above: number;
  readonly backoff: Backoff;
  pause: { readonly from: Instant; readonly forMs: number } | undefined;
}

/**
 * The shards on which our term was too low, by the word of the resource that they are about.
 *
 * Either somebody newer owns such a shard, which the store will show; or the store has forgotten how high its terms
 * were, and the next fresh lease has to go above the one that was in the way. That is tried at once, and with growing
 * pauses if it does not help.
 */
export class Refusals {
  readonly #runtime: Runtime;
  readonly #byShard = new Map<number, Refusal>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /**
   * The work on a fresh lease could not begin: this term is installed. `false` if no store can have granted it: then nothing
   * is asked for above it, and the shard is tried as it is.
   */
  refused(shard: number, installedTerm: number): boolean {
    const known = this.#byShard.get(shard);
    const refusal = known ?? {
      above: 0,
      backoff: new Backoff(this.#runtime, { firstMs: firstPauseMs, limitMs: longestPauseMs }),
      pause: undefined,
    };
    const isCredible = isCredibleTerm(installedTerm, this.#runtime.now());
    if (isCredible) refusal.above = Math.max(refusal.above, installedTerm);
    if (known === undefined) this.#byShard.set(shard, refusal);
    else this.failed(shard);
    return isCredible;
  }

  /** An attempt to get beyond the refusal came to nothing. */
  failed(shard: number): void {
    const refusal = this.#byShard.get(shard);
    if (refusal !== undefined)
      refusal.pause = { from: this.#runtime.now(), forMs: refusal.backoff.nextMs() };
  }

  /** The store shows somebody else's lease. If its term is no lower, that is who was in the way: nothing is amiss. */
  othersTerm(shard: number, term: number): void {
    const refusal = this.#byShard.get(shard);
    if (refusal !== undefined && term >= refusal.above) this.#byShard.delete(shard);
  }

  begun(shard: number): void {
    this.#byShard.delete(shard);
  }

  /** What the next term of the shard has to exceed, as far as is known. */
  above(shard: number): number | undefined {
    return this.#byShard.get(shard)?.above || undefined;
  }

  isPaused(shard: number): boolean {
    return this.#pauseMs(this.#byShard.get(shard)) > 0;
  }

  /** Until the earliest pause ends; infinite if there is none. */
  get pauseMs(): number {
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const refusal of this.#byShard.values()) {
      const pauseMs = this.#pauseMs(refusal);
      if (pauseMs > 0) earliestMs = Math.min(earliestMs, pauseMs);
    }
    return earliestMs;
  }

  #pauseMs(refusal: Refusal | undefined): number {
    if (refusal?.pause === undefined) return 0;
    const { from, forMs } = refusal.pause;
    return Math.max(0, forMs - elapsedMs(from, this.#runtime.now()));
  }
}
