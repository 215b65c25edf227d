import type { Breather } from './breather.js';
import type { PumpEventSink } from './events.js';

/** So many figures are told at the latest. */
const mostKept = 1_024;

/** How long the handlers of a worker take, gathered while somebody wants to know. */
export class HandlerTimes {
  readonly #events: PumpEventSink;
  #handledMs: number[] = [];

  constructor(events: PumpEventSink) {
    this.#events = events;
  }

  get isWanted(): boolean {
    return this.#events.listenerCount('handlersEnded') > 0;
  }

  handled(durationMs: number): void {
    this.#handledMs.push(durationMs);
    if (this.#handledMs.length >= mostKept) this.tell();
  }

  failed(durationMs: number): void {
    this.#events.emit('handlersEnded', { outcome: 'failed', durationsMs: [durationMs] });
  }

  tell(): void {
    if (this.#handledMs.length === 0) return;
    const durationsMs = this.#handledMs;
    this.#handledMs = [];
    this.#events.emit('handlersEnded', { outcome: 'handled', durationsMs });
  }
}

/**
 * Times one handler after the other without a look at the clock of its own: the breather looks before each message, which is when
 * the one before has just ended.
 */
export class Stopwatch {
  readonly #breather: Breather;
  readonly #times: HandlerTimes;
  #isWanted: boolean;
  #begunAtMs: number | undefined;
  #hasReturned = false;

  constructor(breather: Breather, times: HandlerTimes) {
    this.#breather = breather;
    this.#times = times;
    this.#isWanted = times.isWanted;
  }

  /** The breather has just looked at the clock. */
  looked(): void {
    if (this.#hasReturned) this.#returnedAt(this.#breather.readAtMs);
  }

  /** A while has passed since. */
  rested(): void {
    this.#isWanted = this.#times.isWanted;
    if (this.#isWanted) this.#breather.read();
  }

  begun(): void {
    if (this.#isWanted) this.#begunAtMs = this.#breather.readAtMs;
  }

  returned(): void {
    this.#hasReturned = this.#begunAtMs !== undefined;
  }

  threw(): void {
    if (this.#begunAtMs === undefined) return;
    this.#times.failed(this.#breather.read() - this.#begunAtMs);
    this.#begunAtMs = undefined;
  }

  /** No message follows for now. */
  over(): void {
    if (this.#hasReturned) this.#returnedAt(this.#breather.read());
  }

  #returnedAt(nowMs: number): void {
    this.#hasReturned = false;
    if (this.#begunAtMs === undefined) return;
    this.#times.handled(nowMs - this.#begunAtMs);
    this.#begunAtMs = undefined;
  }
}
