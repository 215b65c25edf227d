/**
 * The positions of finished messages on their way to the log. They gather while a request is under way, and travel
 * again with the next one if its outcome is unknown: removing a message twice is harmless.
 */
export class AcknowledgementQueue {
  #waiting: string[] = [];
  #sent: string[] = [];

  /** True when the log knows about everything that was finished. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#sent.length === 0;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  add(position: string): void {
    this.#waiting.push(position);
  }

  /** Everything for the request that is sent now. Settle it by `confirm` or `restore` before the next `take`. */
  take(): readonly string[] {
    this.#sent = this.#waiting;
    this.#waiting = [];
    return this.#sent;
  }

  confirm(): void {
    this.#sent = [];
  }

  restore(): void {
    if (this.#sent.length > 0) this.#waiting = [...this.#sent, ...this.#waiting];
    this.#sent = [];
  }

  clear(): void {
    this.#waiting = [];
    this.#sent = [];
  }
}
