/**
 * What answers that carry the server's time tell about its clock, in terms of our monotonic clock.
 *
 * The time was read between sending and receiving, so the offset of the two clocks lies in an interval as wide as the
 * round trip. Intervals of successive answers are intersected; one that does not overlap what was known means that a clock
 * was stepped (or drifted away), or that another server answers, and replaces it.
 */
export class ServerClock {
  readonly #roundingMs: number;
  #lowestOffsetMs = Number.NEGATIVE_INFINITY;
  #highestOffsetMs = Number.POSITIVE_INFINITY;

  /** @param roundingMs by how much less than the server's time the readings may be: 1 if they are rounded down to whole ms. */
  constructor(roundingMs = 0) {
    this.#roundingMs = roundingMs;
  }

  /** `serverMs` is Unix time; the others are our monotonic clock. */
  observe(serverMs: number, sentAtMs: number, receivedAtMs: number): void {
    const lowestMs = serverMs - receivedAtMs;
    const highestMs = serverMs + this.#roundingMs - sentAtMs;
    const isStepped = lowestMs > this.#highestOffsetMs || highestMs < this.#lowestOffsetMs;
    this.#lowestOffsetMs = isStepped ? lowestMs : Math.max(lowestMs, this.#lowestOffsetMs);
    this.#highestOffsetMs = isStepped ? highestMs : Math.min(highestMs, this.#highestOffsetMs);
  }

  /**
   * A server time that is surely before our `monotonicMs`, by a round trip at most: what is executed before it is executed
   * before its deadline here. `-Infinity` before the first observation.
   */
  serverMsBefore(monotonicMs: number): number {
    // Timers may fire a millisecond early, and whoever gave up then must not be granted anything afterwards.
    return monotonicMs + this.#lowestOffsetMs - 1;
  }
}
