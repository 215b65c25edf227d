import type { StoredMessage } from '../contract.js';

/** The messages of one shard that were read ahead, and where in the log to read on. */
export class Intake {
  readonly #prefetchCount: number;
  #messages: readonly StoredMessage[] = [];
  #next = 0;
  #after: string | undefined;
  #mayHaveMore = true;

  constructor(prefetchCount: number) {
    this.#prefetchCount = prefetchCount;
  }

  /** Messages read and not yet begun. */
  get count(): number {
    return this.#messages.length - this.#next;
  }

  /** Read behind this position; `undefined` from the head of the log. */
  get after(): string | undefined {
    return this.#after;
  }

  /** How many messages there is room for: 0 until half of the room is free, so that requests stay few and full. */
  get roomCount(): number {
    const room = this.#prefetchCount - this.count;
    return room * 2 >= this.#prefetchCount ? room : 0;
  }

  /** The log may hold messages that were not read, and there is room for them. */
  get isHungry(): boolean {
    return this.#mayHaveMore && this.roomCount > 0;
  }

  take(): StoredMessage | undefined {
    return this.#messages[this.#next] === undefined ? undefined : this.#messages[this.#next++];
  }

  /** The log has, or may have, something new. */
  ring(): void {
    this.#mayHaveMore = true;
  }

  /** A request to read is sent now; a ring from here on asks for another one. */
  asked(): void {
    this.#mayHaveMore = false;
  }

  /** The answer to a request for `limit` messages. */
  accept(messages: readonly StoredMessage[], limit: number): void {
    if (messages.length >= limit) this.#mayHaveMore = true;
    const last = messages.at(-1);
    if (last === undefined) return;
    this.#after = last.position;
    this.#messages =
      this.count === 0 ? messages : [...this.#messages.slice(this.#next), ...messages];
    this.#next = 0;
  }

  /** Forgets what was not begun and reads from the head of the log again. */
  restart(): void {
    this.clear();
    this.#after = undefined;
    this.#mayHaveMore = true;
  }

  clear(): void {
    this.#messages = [];
    this.#next = 0;
  }
}
