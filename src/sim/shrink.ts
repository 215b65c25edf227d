import { requireKnown } from '../errors/checks.js';
import type { Schedule } from './faults/faults.js';
import { type RunOptions, type RunResult, run } from './run.js';

/** So many runs are spent on it at most. */
const largestRunCount = 300;

/**
 * The failing run again with as few faults as still make the same checker fail: what is left is what it takes. Delta
 * debugging: larger parts are left out first, then smaller ones, until no single fault can be spared.
 *
 * @param failed a run with a violation.
 * @returns the last run that failed; `failed` itself if nothing can be spared.
 */
export async function shrink(
  failed: RunResult,
  options: Pick<RunOptions, 'plant'> = {},
): Promise<RunResult> {
  requireKnown('options', options, { plant: true });
  const checker = failed.violation?.checker;
  let smallest = failed;
  let runCount = 0;

  async function failsWith(schedule: Schedule): Promise<boolean> {
    runCount += 1;
    const result = await run({ ...failed.plan, schedule }, { ...options, isHashed: false });
    if (result.violation?.checker !== checker) return false;
    smallest = result;
    return true;
  }

  const current = () => smallest.plan.schedule;
  let partCount = 2;
  while (current().length > 0 && runCount < largestRunCount) {
    const size = Math.ceil(current().length / partCount);
    let isShorter = false;
    for (let from = 0; from < current().length && runCount < largestRunCount; ) {
      const rest = [...current().slice(0, from), ...current().slice(from + size)];
      if (await failsWith(rest)) isShorter = true;
      else from += size;
    }
    if (size === 1 && !isShorter) break;
    partCount = isShorter ? 2 : Math.min(partCount * 2, Math.max(1, current().length));
  }
  return smallest;
}
