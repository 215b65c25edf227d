import { WorkWarning } from '../../leases/work-warning.js';

/** Says, once of each, what the runs of a job do wrong, for who has found that nobody listens to that. */
export class RunWarnings {
  readonly #failed: WorkWarning;
  readonly #overdue: WorkWarning;

  constructor(job: string) {
    const who = `a run of the job "${job}"`;
    this.#failed = new WorkWarning({
      ...{ code: 'TENURE_RUN_FAILED', who },
      listen: "schedule.events.on('runEnded', ...) and on('runFailed', ...)",
    });
    this.#overdue = new WorkWarning({
      ...{ code: 'TENURE_RUN_OVERDUE', who },
      listen: "schedule.events.on('runOverdue', ...)",
    });
  }

  /** @param next what follows, after "it failed, and". */
  failed(error: unknown, next: string): void {
    this.#failed.failed(error, next);
  }

  /** It was told to stop so long ago, and goes on. */
  overdue(forMs: number): void {
    const meanwhile = 'nothing else of the job begins in this process meanwhile';
    this.#overdue.overdue(forMs, 'its signal', meanwhile);
  }
}
