import type { Instant } from '../../time/index.js';
import { decodeLife, type LedLife } from '../led-life.js';
import type { SharedRow } from './shared-row.js';
import type { ThreadLink } from './thread-link.js';

/** What the main thread knows of a lease that another thread renews: its row, and what happened to that thread. */
export class FollowedLease {
  /** Of the lease in messages. */
  readonly key: number;
  /** The thread that renews it. */
  readonly link: ThreadLink;
  readonly #row: SharedRow;
  #seenVersion: number;
  #hasStalled = false;
  #abandonedAt: Instant | undefined;
  #hasNews = false;

  constructor(key: number, row: SharedRow, link: ThreadLink) {
    this.key = key;
    this.link = link;
    this.#row = row;
    this.#seenVersion = row.version;
  }

  /** The main thread stood still for too long. */
  stall(): void {
    this.#hasStalled = true;
    this.#hasNews = true;
  }

  /** Nobody renews it any more. */
  abandon(at: Instant): void {
    this.#abandonedAt = at;
    this.#hasNews = true;
  }

  /** What has become of its life; `undefined` if nothing has since this was last asked. */
  news(): LedLife | undefined {
    const version = this.#row.version;
    if (version === this.#seenVersion && !this.#hasNews) return undefined;
    this.#seenVersion = version;
    this.#hasNews = false;
    const led = decodeLife(this.#row.read());
    // What its thread has ended had ended before.
    if (led.endReason !== undefined) return led;
    if (this.#hasStalled) return { ...led, endReason: 'stalled' };
    if (this.#abandonedAt === undefined) return led;
    return { ...led, doubt: { cause: 'renewal-failed', since: this.#abandonedAt } };
  }
}
