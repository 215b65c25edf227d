import type { Runtime, Timer } from '../time/index.js';
import type { PendingPublish } from './lanes.js';

/** Ends each publish at its deadline, whatever its request does meanwhile; one timer for all of them. */
export class PublishDeadlines {
  readonly #runtime: Runtime;
  readonly #giveUp: (pending: PendingPublish) => void;
  readonly #pending = new Set<PendingPublish>();
  #timer: Timer | undefined;
  #dueMs = Number.POSITIVE_INFINITY;

  constructor(runtime: Runtime, giveUp: (pending: PendingPublish) => void) {
    this.#runtime = runtime;
    this.#giveUp = giveUp;
  }

  add(pending: PendingPublish): void {
    this.#pending.add(pending);
    if (pending.deadlineMs < this.#dueMs) this.#arm(pending.deadlineMs);
  }

  delete(pending: PendingPublish): void {
    this.#pending.delete(pending);
    if (this.#pending.size === 0) this.#disarm();
  }

  #arm(dueMs: number): void {
    this.#timer?.cancel();
    this.#dueMs = dueMs;
    const delayMs = Math.max(0, dueMs - this.#runtime.now().monotonicMs);
    this.#timer = this.#runtime.setTimer(delayMs, () => this.#expire());
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#dueMs = Number.POSITIVE_INFINITY;
  }

  /** The timer may be older than the publishes that are there now, so it only says that it is time to look. */
  #expire(): void {
    const nowMs = this.#runtime.now().monotonicMs;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const pending of [...this.#pending]) {
      if (pending.deadlineMs <= nowMs) {
        this.#pending.delete(pending);
        this.#giveUp(pending);
      } else {
        nextMs = Math.min(nextMs, pending.deadlineMs);
      }
    }
    if (this.#pending.size === 0) this.#disarm();
    else this.#arm(nextMs);
  }
}
