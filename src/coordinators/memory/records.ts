import { groupOf } from '../names.js';
import type { StoredRecord } from './record.js';

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

  /** Removes every record whose deadline is not after `nowMs`, and returns their names. */
  expire(nowMs: number): string[] {
    if (nowMs < this.#earliestDeadlineMs) return [];
    this.#earliestDeadlineMs = Number.POSITIVE_INFINITY;
    const expired: string[] = [];
    for (const [name, record] of this.#byName) {
      if (record.kind === 'foreign') continue;
      if (record.deadlineMs > nowMs) this.#noteDeadline(record.deadlineMs);
      else expired.push(name);
    }
    for (const name of expired) this.#byName.delete(name);
    return expired;
  }

  /** Not later than the next expiry; infinite if nothing can expire. */
  get nextExpiryMs(): number {
    return this.#earliestDeadlineMs;
  }

  #noteDeadline(deadlineMs: number): void {
    this.#earliestDeadlineMs = Math.min(this.#earliestDeadlineMs, deadlineMs);
  }
}
