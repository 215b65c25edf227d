import { elapsedMs, type Instant, type Runtime } from '../time/index.js';
import type { Fleet } from './fleet.js';

/** Whose lease had expired when its shard was claimed. */
export interface Takeover {
  readonly previousOwner: string;
  readonly previousTerm: number;
  /** Milliseconds between the expiry, as the store had last announced it, and the claim. */
  readonly gapMs: number;
}

interface Sighting {
  readonly owner: string;
  readonly term: number;
  readonly seenAt: Instant;
  readonly remainingMs: number;
}

/** Clocks of the store and of this process may disagree by this much about the moment of an expiry. */
const toleranceMs = 50;

/** Tells a shard that was given back from one whose owner let it expire, by remembering what was last seen of it. */
export class Takeovers {
  readonly #runtime: Runtime;
  readonly #last = new Map<number, Sighting>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  observe(fleet: Fleet): void {
    const seenAt = this.#runtime.now();
    for (const { shard, record } of fleet.shards) {
      if (record?.state === 'held') {
        const { holder, term, remainingMs } = record;
        this.#last.set(shard, { owner: holder.id, term, seenAt, remainingMs });
      } else if (record?.state === 'reserved' || this.#gapMs(shard) < -toleranceMs) {
        this.#last.delete(shard);
      }
    }
  }

  /** This process has just claimed the shard: from whom that took it over, or `undefined` if it had been given back. */
  claimed(shard: number): Takeover | undefined {
    const last = this.#last.get(shard);
    const gapMs = this.#gapMs(shard);
    this.#last.delete(shard);
    if (last === undefined || gapMs < -toleranceMs) return undefined;
    return { previousOwner: last.owner, previousTerm: last.term, gapMs: Math.max(0, gapMs) };
  }

  /** Since the expiry; negative before it. */
  #gapMs(shard: number): number {
    const last = this.#last.get(shard);
    return last === undefined ? 0 : elapsedMs(last.seenAt, this.#runtime.now()) - last.remainingMs;
  }
}
