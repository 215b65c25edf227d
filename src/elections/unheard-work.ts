import type { Emitter } from '../events/index.js';
import { WorkWarning } from '../leases/work-warning.js';
import type { ElectionEvents } from './events.js';

/** Where users hear of the failures of work that they know only through somebody else. */
export interface WorkHeardElsewhere {
  /** As the subject of a sentence. */
  readonly who: string;
  /** A piece of code. */
  readonly listen: string;
  readonly isHeard: () => boolean;
}

/** Warns, once of each, that the work of an election throws, that it returns, and that it does not stop, if nobody listens. */
export class UnheardWork {
  readonly #events: Emitter<ElectionEvents>;
  readonly #returned: WorkWarning;
  readonly #overdue: WorkWarning;
  #failed: WorkWarning;
  #isHeardElsewhere = () => false;
  #isOthers = false;

  constructor(election: string, events: Emitter<ElectionEvents>) {
    const who = `the work of the election "${election}"`;
    this.#events = events;
    this.#failed = new WorkWarning({
      ...{ code: 'TENURE_WORK_FAILED', who },
      listen: "election.events.on('workFailed', ...)",
    });
    this.#returned = new WorkWarning({
      ...{ code: 'TENURE_WORK_RETURNED', who },
      listen: "election.events.on('workReturned', ...)",
    });
    this.#overdue = new WorkWarning({
      ...{ code: 'TENURE_WORK_OVERDUE', who },
      listen: "election.events.on('workOverdue', ...)",
    });
  }

  /** The work is not the user's own. */
  isHeardBy({ who, listen, isHeard }: WorkHeardElsewhere): void {
    this.#failed = new WorkWarning({ code: 'TENURE_WORK_FAILED', who, listen });
    this.#isHeardElsewhere = isHeard;
    this.#isOthers = true;
  }

  /** It threw, though nobody had told it to stop. */
  failed(error: unknown): void {
    if (this.#events.listenerCount('workFailed') > 0 || this.#isHeardElsewhere()) return;
    this.#failed.failed(error, 'is called again after a pause, in a new term');
  }

  /** It returned, though nobody had told it to stop. */
  returned(): void {
    if (this.#events.listenerCount('workReturned') > 0) return;
    this.#returned.tell(
      'returned though nobody had told it to stop, so its lease was given back; it is called again after a pause, in a new term. It leads until it returns: await in it what it has begun, or the abort of stopping',
    );
  }

  /** It was told to stop so long ago, and has not. Whose work it is tells which part of it goes on. */
  overdue(drainMs: number): void {
    if (this.#isOthers || this.#events.listenerCount('workOverdue') > 0) return;
    this.#overdue.overdue(
      drainMs,
      'stopping and lease.signal',
      'its lease has ended, and this process is no candidate meanwhile',
    );
  }
}
