import { readFile } from 'node:fs/promises';
import { type PlanOptions, planOf, type RunResult, run, type Schedule } from '../../sim/index.js';
import type { Terminal } from '../terminal.js';

interface Choice {
  readonly model?: string;
  readonly scenario?: string;
  readonly schedule?: string;
}

/** Prints the trace, and whether all was well. */
export async function playOne(seed: number, choice: Choice, terminal: Terminal): Promise<boolean> {
  const plan = planOf(seed, await planOptions(choice));
  const result = await run(plan, { onLine: (line) => terminal.print(line) });
  report(result, terminal);
  return result.violation === undefined;
}

export async function playMany(
  { from, to }: { readonly from: number; readonly to: number },
  choice: Choice,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<boolean> {
  const options = await planOptions(choice);
  const coverage = new Map<string, number>();
  let simulatedMs = 0;
  for (let seed = from; seed <= to; seed++) {
    signal.throwIfAborted();
    const result = await run(planOf(seed, options));
    simulatedMs += result.simulatedMs;
    for (const [what, count] of result.coverage)
      coverage.set(what, (coverage.get(what) ?? 0) + count);
    if (result.violation === undefined) continue;
    report(result, terminal);
    return false;
  }
  for (const [what, count] of [...coverage].sort())
    terminal.print(`${String(count).padStart(9)}  ${what}`);
  const minutes = Math.round(simulatedMs / 60_000);
  terminal.note(`${to - from + 1} seeds, ${minutes} simulated minutes: nothing was violated.`);
  return true;
}

async function planOptions({ schedule, model, scenario }: Choice): Promise<PlanOptions> {
  return {
    ...(model !== undefined && { model }),
    ...(scenario !== undefined && { scenario }),
    ...(schedule !== undefined && {
      schedule: JSON.parse(await readFile(schedule, 'utf8')) as Schedule,
    }),
  };
}

function report({ plan, violation, hash, simulatedMs }: RunResult, terminal: Terminal): void {
  const { seed, model, scenario } = plan;
  terminal.note(
    `seed ${seed}, model ${model.name}, scenario ${scenario.name}: ${(simulatedMs / 1000).toFixed(1)} s simulated, trace ${hash.slice(0, 16)}`,
  );
  if (violation === undefined) {
    terminal.note('Nothing was violated.');
    return;
  }
  terminal.note(`Violated (${violation.checker}): ${violation.what}`);
  terminal.note(`Schedule: ${JSON.stringify(plan.schedule)}`);
}
