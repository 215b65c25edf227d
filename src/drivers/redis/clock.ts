/**
 * What one reading of the server's clock tells about it, in terms of our monotonic clock.
 *
 * A reply that carries the server's time was written between sending and receiving, so the offset of the two clocks
 * lies in an interval as wide as the round trip. Intervals of successive replies are intersected; one that does not
 * overlap what was known means a clock was stepped (or drifted away), and replaces it.
 */
export class ServerClock {
  #lowestOffsetMs = Number.NEGATIVE_INFINITY;
  #highestOffsetMs = Number.POSITIVE_INFINITY;

  /** `serverMs` is Unix time rounded down to whole milliseconds; the others are our monotonic clock. */
  observe(serverMs: number, sentAtMs: number, receivedAtMs: number): void {
    const lowestMs = serverMs - receivedAtMs;
    const highestMs = serverMs + 1 - sentAtMs;
    const stepped = lowestMs > this.#highestOffsetMs || highestMs < this.#lowestOffsetMs;
    this.#lowestOffsetMs = stepped ? lowestMs : Math.max(lowestMs, this.#lowestOffsetMs);
    this.#highestOffsetMs = stepped ? highestMs : Math.min(highestMs, this.#highestOffsetMs);
  }

  /**
   * A server time that is surely before our `monotonicMs`, by a round trip at most: a request that is executed before
   * it is executed before its deadline here. `-Infinity` before the first observation.
   */
  serverMsBefore(monotonicMs: number): number {
    // Timers may fire a millisecond early, and whoever gave up then must not be granted anything afterwards.
    return Math.floor(monotonicMs + this.#lowestOffsetMs) - 1;
  }
}
