import { readTextFile } from '../../drivers/text-file.js';
import { explain, type PlanOptions, parseSchedule, planOf, run, runMany } from '../../sim/index.js';
import type { Terminal } from '../terminal.js';

export interface Choice {
  readonly model?: string;
  readonly scenario?: string;
  readonly schedule?: string;
}

/** Prints the trace of one run, and says whether all was well. */
export async function playOne(seed: number, choice: Choice, terminal: Terminal): Promise<boolean> {
  const plan = planOf(seed, planOptions(choice));
  const result = await run(plan, { onLine: (line) => terminal.print(line) });
  const { model, scenario } = plan;
  const seconds = (result.simulatedMs / 1_000).toFixed(1);
  terminal.note(
    `Seed ${seed}, model ${model.name}, scenario ${scenario.name}: ${seconds} s simulated, trace ${result.hash.slice(0, 16)}.`,
  );
  if (result.violation === undefined) terminal.note('Nothing was violated.');
  else for (const line of (await explain(result)).summary) terminal.note(line);
  return result.violation === undefined;
}

/** Prints what was covered by many runs; or, of the first that fails, its seed, its shrunk schedule and its trace. */
export async function playMany(
  { from, to }: { readonly from: number; readonly to: number },
  choice: Choice,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<boolean> {
  const startedAtMs = performance.now();
  const options = { ...planOptions(choice), signal };
  const { coverage, failed, seedCount, simulatedMs } = await runMany(from, to, options);
  if (failed !== undefined) {
    const { summary, trace } = await explain(failed);
    for (const line of trace) terminal.print(line);
    for (const line of summary) terminal.note(line);
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

function planOptions({ schedule, model, scenario }: Choice): PlanOptions {
  return {
    ...(model !== undefined && { model }),
    ...(scenario !== undefined && { scenario }),
    ...(schedule !== undefined && {
      schedule: parseSchedule(readTextFile('--schedule', schedule, 'name a file of faults')),
    }),
  };
}
