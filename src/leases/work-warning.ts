import { sayThrown } from '../errors/thrown.js';
import { heedsItsLease } from './lease-errors.js';

/** One for each kind of work. */
export type WorkWarningCode =
  | 'TENURE_WORK_FAILED'
  | 'TENURE_WORK_RETURNED'
  | 'TENURE_WORK_OVERDUE'
  | 'TENURE_RUN_FAILED'
  | 'TENURE_RUN_OVERDUE'
  | 'TENURE_HANDLER_FAILED';

export interface WorkWarningOptions {
  readonly code: WorkWarningCode;
  /** Whose work it is, as the subject of a sentence. */
  readonly who: string;
  /** What would hear of it, as a piece of code. */
  readonly listen: string;
}

/**
 * Says once, as a process warning, that work which is called again and again does not do what it should, for who has found
 * that nobody listens to that: a typo in it would else look like work that waits for its turn.
 */
export class WorkWarning {
  readonly #options: WorkWarningOptions;
  #isTold = false;

  constructor(options: WorkWarningOptions) {
    this.#options = options;
  }

  /**
   * What only heeds the end of a lease, or the doubt whether it is held, is no failure of the work: the lease tells of it.
   *
   * @param next what follows, after "it failed, and".
   */
  failed(error: unknown, next: string): void {
    if (!this.#isTold && !heedsItsLease(error))
      this.tell(`failed, and ${next}: ${sayThrown(error)}`);
  }

  /**
   * It was told to stop so long ago, and goes on.
   *
   * @param heed what it would have to heed. @param meanwhile what does not happen until it stops.
   */
  overdue(forMs: number, heed: string, meanwhile: string): void {
    this.tell(
      `was told to stop ${forMs / 1_000} s ago, and goes on; ${meanwhile}. Nothing stops it but to heed ${heed}, or the end of this process`,
    );
  }

  /** @param what it did, without a dot. */
  tell(what: string): void {
    if (this.#isTold) return;
    this.#isTold = true;
    const { code, who, listen } = this.#options;
    process.emitWarning(
      `${who} ${what}. Nobody listens to that: use ${listen}, or logEvents of tenure/log.`,
      { type: 'TenureWorkWarning', code },
    );
  }
}
