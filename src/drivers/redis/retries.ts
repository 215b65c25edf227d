import { Backoff, type Runtime } from '../../time/index.js';
import { replyMeaning } from './errors.js';

/** How often one call is sent again because the server found it too late. */
const tooLateLimitCount = 2;

/** Which answers of the server one call may follow by another try. Only for what was certainly not executed. */
export class Retries {
  readonly #runtime: Runtime;
  readonly #deadlineMs: number;
  readonly #backoff: Backoff;
  #tooLateCount = 0;
  #reconnected = false;

  constructor(runtime: Runtime, deadlineMs: number) {
    this.#runtime = runtime;
    this.#deadlineMs = deadlineMs;
    this.#backoff = new Backoff(runtime, { firstMs: 10, limitMs: 200 });
  }

  /**
   * Whether to try again at once after "too late": if our deadline has not passed, the server's clock was stepped
   * forward, and its answer told us how far.
   */
  afterTooLate(): boolean {
    this.#tooLateCount += 1;
    return this.#tooLateCount <= tooLateLimitCount && this.#inTime(0);
  }

  /** How long to wait before the next try after an error reply; `undefined`: do not try again. */
  pauseAfter(reply: Error): number | undefined {
    const pauseMs = this.#pauseAfter(reply);
    // A try needs time for its answer, too: without, a plain "no" would turn into "unknown" at the deadline.
    return pauseMs !== undefined && this.#inTime(2 * pauseMs) ? pauseMs : undefined;
  }

  #pauseAfter(reply: Error): number | undefined {
    const meaning = replyMeaning(reply);
    if (meaning === 'retry') return this.#backoff.nextMs();
    // Once: the address may lead to the new master by now. If it does not, it is no use asking again.
    if (meaning !== 'reconnect' || this.#reconnected) return undefined;
    this.#reconnected = true;
    return 0;
  }

  #inTime(neededMs: number): boolean {
    return this.#runtime.now().monotonicMs + neededMs < this.#deadlineMs;
  }
}
