import { Backoff, type Runtime } from '../../time/index.js';
import type { Topology } from './client.js';
import { replyCode, replyMeaning } from './errors.js';

/** How often one call is sent again because the server found it too late. */
const tooLateLimitCount = 2;
/** How often one call follows MOVED: more often, the nodes do not agree who owns the slot. */
const movedLimitCount = 5;

/** What the server answers that has to be asked of another one, where there are others. */
const elsewhere = ['LOADING', 'MASTERDOWN', 'CLUSTERDOWN'];

/** Which answers of the server one call may follow by another try. Only for what was certainly not executed. */
export class Retries {
  readonly #runtime: Runtime;
  readonly #deadlineMs: number;
  readonly #topology: Topology;
  readonly #backoff: Backoff;
  #tooLateCount = 0;
  #movedCount = 0;
  #reconnected = false;

  constructor(runtime: Runtime, deadlineMs: number, topology: Topology) {
    this.#runtime = runtime;
    this.#deadlineMs = deadlineMs;
    this.#topology = topology;
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
    switch (replyMeaning(reply, this.#topology)) {
      case 'retry':
        return this.#backoff.nextMs();
      case 'reconnect':
        return this.#pauseToReconnect();
      case 'moved':
        this.#movedCount += 1;
        if (this.#movedCount > movedLimitCount) return undefined;
        return this.#movedCount === 1 ? 0 : this.#backoff.nextMs();
      default:
        return undefined;
    }
  }

  /** At once, first. An address that does not move leads to no other master later; whoever finds one may find it later. */
  #pauseToReconnect(): number | undefined {
    if (!this.#reconnected) {
      this.#reconnected = true;
      return 0;
    }
    return this.#topology === 'single' ? undefined : this.#backoff.nextMs();
  }

  #inTime(neededMs: number): boolean {
    return this.#runtime.now().monotonicMs + neededMs < this.#deadlineMs;
  }
}

/** Whether this answer says that another server has to be asked, or that this one has to be looked for again. */
export function leadsElsewhere(reply: Error, topology: Topology): boolean {
  const meaning = replyMeaning(reply, topology);
  if (meaning === 'reconnect' || meaning === 'moved') return true;
  return topology !== 'single' && elsewhere.includes(replyCode(reply) ?? '');
}
