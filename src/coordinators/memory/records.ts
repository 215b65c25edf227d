import { groupOf } from '../names.js';
import { afterExpiry, type ForeignRecord, type StoredRecord } from '../rules/record.js';

/** A record's time was over, and something else, or nothing, stands under the name. */
export interface Expiry {
  readonly name: string;
  readonly before: Exclude<StoredRecord, ForeignRecord>;
  readonly after: StoredRecord | undefined;
}

/**
 * The records of a store, without those whose deadline has passed.
 *
 * Expiry is a fact about the clock and not an event: {@link expire} runs before every operation, so an answer is right
 * even if no timer had a chance to fire.
 */
export class Records {
  readonly #byName = new Map<string, StoredRecord>();
  /** No deadline is earlier than this; it may be too early, since renewals move deadlines away. */
  #earliestDeadlineMs = Number.POSITIVE_INFINITY;

  get(name: string): StoredRecord | undefined {
    return this.#byName.get(name);
  }

  set(name: string, record: StoredRecord): void {
    this.#byName.set(name, record);
    if (record.kind !== 'foreign') this.#noteDeadline(record.deadlineMs);
  }

  delete(name: string): void {
    this.#byName.delete(name);
  }

  clear(): void {
    this.#byName.clear();
    this.#earliestDeadlineMs = Number.POSITIVE_INFINITY;
  }

  /** The names of a group that have a record, in order of their code units. */
  namesIn(group: string): string[] {
    return [...this.#byName.keys()].filter((name) => groupOf(name) === group).sort();
  }

  /** Puts in place of every record whose deadline is not after `nowMs` what follows it, and returns what changed. */
  expire(nowMs: number): Expiry[] {
    if (nowMs < this.#earliestDeadlineMs) return [];
    this.#earliestDeadlineMs = Number.POSITIVE_INFINITY;
    const expiries: Expiry[] = [];
    for (const [name, record] of this.#byName) {
      let current: StoredRecord | undefined = record;
      while (current !== undefined && current.kind !== 'foreign' && current.deadlineMs <= nowMs) {
        const after = afterExpiry(current);
        expiries.push({ name, before: current, after });
        current = after;
      }
      if (current === undefined) this.delete(name);
      else if (current !== record) this.set(name, current);
      else if (current.kind !== 'foreign') this.#noteDeadline(current.deadlineMs);
    }
    return expiries;
  }

  /** Not later than the next expiry; infinite if nothing can expire. */
  get nextExpiryMs(): number {
    return this.#earliestDeadlineMs;
  }

  #noteDeadline(deadlineMs: number): void {
    this.#earliestDeadlineMs = Math.min(this.#earliestDeadlineMs, deadlineMs);
  }
}
