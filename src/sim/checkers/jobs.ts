import type { RunRecord } from '../../schedule/index.js';
import type { Bench, Checker } from './checker.js';

/** What a run does at the resource: one of its steps. */
export interface StepFacts {
  readonly run: string;
  readonly step: number;
}

export interface JobsCheckerOptions {
  /** A tick is due so often, in milliseconds. */
  readonly everyMs: number;
  /** The steps of each run. */
  readonly stepCount: number;
  /** All runs that stand in the store. */
  readonly runs: () => readonly RunRecord[];
}

/** At the end the last tick that ran is no older than this, by the store's clock; in milliseconds. */
const latestMs = 20_000;

/**
 * Each tick has one run, whoever fired and whatever the clocks said: none is twice, none is missing under a policy that
 * makes up for all. The effects of a run happen once each and in their order, however many attempts it took, and it has
 * succeeded only if all of them have happened.
 */
export class JobsChecker implements Checker {
  readonly name = 'jobs';
  readonly #options: JobsCheckerOptions;
  readonly #lastSteps = new Map<string, number>();
  #bench: Bench | undefined;

  constructor(options: JobsCheckerOptions) {
    this.#options = options;
  }

  attach(bench: Bench): void {
    this.#bench = bench;
    bench.witness.on('effect', ({ process, values }) => {
      for (const one of values as readonly (StepFacts | undefined)[])
        if (one !== undefined) this.#apply(one, process);
    });
  }

  /** Before anything is closed. `wallMs`: what time it is in the store. */
  settle(wallMs: number): void {
    const latest = Math.max(...this.#options.runs().map(({ tickMs }) => tickMs));
    if (latest < wallMs - latestMs)
      this.#bench?.violated(`the last tick that ran was due ${wallMs - latest} ms ago`);
  }

  atEnd(bench: Bench): void {
    const { everyMs, stepCount } = this.#options;
    const runs = [...this.#options.runs()].sort((one, other) => one.tickMs - other.tickMs);
    let before: RunRecord | undefined;
    for (const run of runs) {
      if (before !== undefined && run.tickMs === before.tickMs)
        bench.violated(`one tick has two runs: ${before.id} and ${run.id}`);
      if (before !== undefined && run.tickMs > before.tickMs + everyMs)
        bench.violated(`no tick ran between ${before.id} and ${run.id}`);
      const stepsDone = this.#lastSteps.get(run.id) ?? 0;
      if (run.state === 'succeeded' && stepsDone < stepCount)
        bench.violated(`${run.id} has succeeded after ${stepsDone} of ${stepCount} steps`);
      // The last one may be under way when everything is closed.
      if (run.state !== 'succeeded' && run !== runs.at(-1))
        bench.violated(`${run.id} is ${run.state} at the end (${run.detail ?? 'no detail'})`);
      if (run.attempt > 1) bench.witness.cover('a run was resumed');
      before = run;
    }
  }

  #apply({ run, step }: StepFacts, process: string): void {
    const lastStep = this.#lastSteps.get(run) ?? 0;
    if (step !== lastStep + 1)
      this.#bench?.violated(`${process} did step ${step} of ${run} after step ${lastStep}`);
    this.#lastSteps.set(run, step);
  }
}
