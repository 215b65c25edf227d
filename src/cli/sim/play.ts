import { readFile } from 'node:fs/promises';
import {
  type PlanOptions,
  parseSchedule,
  planOf,
  type RunResult,
  run,
  runMany,
  shrink,
} from '../../sim/index.js';
import type { Terminal } from '../terminal.js';

export interface Choice {
  readonly model?: string;
  readonly scenario?: string;
  readonly schedule?: string;
}

/** Prints the trace of one run, and says whether all was well. */
export async function playOne(seed: number, choice: Choice, terminal: Terminal): Promise<boolean> {
  const plan = planOf(seed, await planOptions(choice));
  const result = await run(plan, { onLine: (line) => terminal.print(line) });
  describe(result, terminal);
  if (result.violation === undefined) return true;
  await explain(result, terminal);
  return false;
}

/** Prints what was covered by many runs; or, of the first that fails, its seed, its shrunk schedule and its trace. */
export async function playMany(
  { from, to }: { readonly from: number; readonly to: number },
  choice: Choice,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<boolean> {
  const startedAtMs = performance.now();
  const options = { ...(await planOptions(choice)), signal };
  const { coverage, failed, seedCount, simulatedMs } = await runMany(from, to, options);
  if (failed !== undefined) {
    describe(failed, terminal);
    const shrunk = await explain(failed, terminal);
    await run(shrunk.plan, { onLine: (line) => terminal.print(line) });
    return false;
  }
  for (const [what, count] of [...coverage].sort())
    terminal.print(`${String(count).padStart(9)}  ${what}`);
  const minutes = simulatedMs / 60_000;
  const perSecond = minutes / ((performance.now() - startedAtMs) / 1_000);
  terminal.note(
    `${seedCount} seeds, ${Math.round(minutes)} simulated minutes, ${Math.round(perSecond)} a second: nothing was violated.`,
  );
  return true;
}

async function planOptions({ schedule, model, scenario }: Choice): Promise<PlanOptions> {
  return {
    ...(model !== undefined && { model }),
    ...(scenario !== undefined && { scenario }),
    ...(schedule !== undefined && { schedule: parseSchedule(await readFile(schedule, 'utf8')) }),
  };
}

function describe({ plan, violation, hash, simulatedMs }: RunResult, terminal: Terminal): void {
  const { seed, model, scenario } = plan;
  const seconds = (simulatedMs / 1_000).toFixed(1);
  terminal.note(
    `Seed ${seed}, model ${model.name}, scenario ${scenario.name}: ${seconds} s simulated, trace ${hash.slice(0, 16)}.`,
  );
  const verdict =
    violation === undefined
      ? 'Nothing was violated.'
      : `Violated (${violation.checker}): ${violation.what}.`;
  terminal.note(verdict);
}

/** What it takes to see it again. */
async function explain(failed: RunResult, terminal: Terminal): Promise<RunResult> {
  const shrunk = await shrink(failed);
  const { seed, schedule, model, scenario } = shrunk.plan;
  terminal.note(`It takes ${schedule.length} of ${failed.plan.schedule.length} faults:`);
  terminal.note(JSON.stringify(schedule));
  terminal.note(
    `Again, with these in a file: tenure sim --seed ${seed} --model ${model.name} --scenario ${scenario.name} --schedule FILE`,
  );
  return shrunk;
}
