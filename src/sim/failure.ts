import { requireKnown } from '../errors/checks.js';
import { type RunOptions, type RunResult, run } from './run.js';
import { shrink } from './shrink.js';

/** What it takes to see a failing run again. */
export interface Failure {
  /** The run with as few faults as it takes. */
  readonly shrunk: RunResult;
  /** Its trace. */
  readonly trace: readonly string[];
  /** Its seed, what was violated, its schedule as JSON and how to play it, a line each. */
  readonly summary: readonly string[];
}

export async function explain(
  failed: RunResult,
  options: Pick<RunOptions, 'plant'> = {},
): Promise<Failure> {
  requireKnown('options', options, { plant: true });
  const shrunk = await shrink(failed, options);
  const trace: string[] = [];
  const onLine = (line: string) => trace.push(line);
  const shown = await run(shrunk.plan, { ...options, isHashed: false, onLine });
  const { seed, schedule, model, scenario } = shrunk.plan;
  const which = `--seed ${seed} --model ${model.name} --scenario ${scenario.name}`;
  const summary = [
    `Seed ${seed}, model ${model.name}, scenario ${scenario.name}.`,
    `Violated (${shown.violation?.checker}): ${shown.violation?.what}.`,
    `It takes ${schedule.length} of ${failed.plan.schedule.length} faults:`,
    JSON.stringify(schedule),
    `Again, with these in a file: tenure sim ${which} --schedule FILE`,
  ];
  return { shrunk, trace, summary };
}
