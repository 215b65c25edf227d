import { isCredibleTerm } from '../coordinators/index.js';
import { StaleTermError } from '../errors/index.js';
import type { Lease } from '../leases/index.js';
import { heedsItsLease } from '../leases/lease-errors.js';
import { elapsedMs, type Instant, type Runtime, sleep } from '../time/index.js';
import type { Announcer } from './announcer.js';
import type { Campaigner } from './campaigner.js';
import type { CurrentTerm } from './current-term.js';
import { WorkOverdueError } from './election-errors.js';
import type { LedTerm, Work, WorkOutcome } from './led-term.js';
import type { ResolvedElectionOptions } from './options.js';
import { Pauses } from './pause.js';
import type { UnheardWork } from './unheard-work.js';

export interface LeadLoopOptions {
  readonly runtime: Runtime;
  readonly options: ResolvedElectionOptions;
  readonly announcer: Announcer;
  readonly campaigner: Campaigner;
  readonly current: CurrentTerm;
  readonly unheard: UnheardWork;
}

/**
 * Campaigns, leads, and campaigns again, until it is told to stop. One work at a time: the next campaign begins when the
 * work of the last term has settled, and after a pause that grows while the work keeps failing.
 */
export class LeadLoop<T> {
  readonly #context: LeadLoopOptions;
  readonly #work: Work<T>;
  readonly #stopped = new AbortController();
  readonly #pauses: Pauses;
  /** The resource of the last work has seen this term, which the store has forgotten. */
  #above: number | undefined;

  constructor(context: LeadLoopOptions, work: Work<T>) {
    this.#context = context;
    this.#work = work;
    this.#pauses = new Pauses(context.runtime, context.options);
  }

  /** Resolves with what the work returned when it was told to stop; `undefined` if there was none then. */
  async run(): Promise<T | undefined> {
    for (let isFirst = true; !this.#isStopped; isFirst = false) {
      const term = await this.#campaign(isFirst);
      if (term === undefined) continue;
      let failed = false;
      const outcome = await term.run(this.#work, (outcome) => {
        failed = this.#report(term, outcome);
      });
      if (outcome.how === 'abandoned') throw this.#overdue(term);
      await term.finish();
      const { heldMs, lease } = term;
      const pauseMs = this.#pauses.afterMs({ reason: lease.endReason, heldMs, failed });
      if (this.#isStopped) return outcome.how === 'returned' ? outcome.value : undefined;
      await sleep(this.#context.runtime, pauseMs, this.#stopped.signal);
    }
    return undefined;
  }

  /** Ends the campaign or the pause; asks the work to stop. `run` settles soon after. */
  stop(): void {
    if (this.#isStopped) return;
    this.#stopped.abort();
    this.#end(this.#context.current.last);
  }

  get #isStopped(): boolean {
    return this.#stopped.signal.aborted;
  }

  /** What a lease that was lost by the clock would leave its work to stop in. */
  get #graceMs(): number {
    const { ttlMs, giveUpAfterMs } = this.#context.options.timing;
    return ttlMs - giveUpAfterMs;
  }

  /** `undefined` if it was told to stop, or the lease it won has ended already. */
  async #campaign(isFirst: boolean): Promise<LedTerm | undefined> {
    const { campaigner, current, announcer, runtime } = this.#context;
    const above = this.#above;
    const startedAt = runtime.now();
    const lease = await campaigner.win(this.#stopped.signal, { isFirst, above });
    if (lease === undefined) return undefined;
    this.#above = undefined;
    if (above !== undefined) announcer.tell('termHealed', { above, term: lease.term });
    const term = current.begin(lease, elapsedMs(startedAt, runtime.now()));
    // It may have been told to since it won; there was no term then that could have been.
    if (this.#isStopped) this.#end(term);
    return term;
  }

  #end(term: LedTerm | undefined): void {
    void term?.giveBack({ cause: 'shutdown' });
    term?.abandonAfter(this.#graceMs);
  }

  /** Tells how the work ended; `true` if nobody had told it to. */
  #report(term: LedTerm, outcome: WorkOutcome<T>): boolean {
    const { announcer, unheard, runtime } = this.#context;
    const { lease } = term;
    const reason = term.stopReason;
    const failed = reason === undefined;
    if (outcome.how === 'threw' && (failed || !followsFrom(outcome.error, reason)))
      announcer.tell('workFailed', { term: lease.term, error: outcome.error });
    if (outcome.how === 'returned' && failed) announcer.tell('workReturned', { term: lease.term });
    if (outcome.how === 'threw' && failed) unheard.failed(outcome.error);
    if (outcome.how === 'returned' && failed) unheard.returned();
    const error = failed && outcome.how === 'threw' ? outcome.error : undefined;
    this.#above = termToHeal(lease, error, runtime.now());
    return failed;
  }

  #overdue(term: LedTerm): WorkOverdueError {
    const { options } = this.#context;
    // Should it end after all, what is left of its lease can go.
    void term.settled.then(() => term.finish());
    return new WorkOverdueError(options.name, term.lease.term, options.drainMs + this.#graceMs);
  }
}

/** Whether work threw what it was stopped with. Anything else is news. */
function followsFrom(error: unknown, reason: unknown): boolean {
  return error === reason || heedsItsLease(error);
}

/**
 * A resource that has seen a higher term than a lease that was held: the store has lost its terms. A fence has told the
 * lease, which ended by that; of any other resource the error tells.
 */
function termToHeal(lease: Lease, error: unknown, now: Instant): number | undefined {
  const { term } = lease;
  const isRefusal = error instanceof StaleTermError && error.term === term;
  const installedTerm = lease.installedTerm ?? (isRefusal ? error.installedTerm : undefined);
  return isCredibleTerm(installedTerm, now) && installedTerm > term ? installedTerm : undefined;
}
