import { type Known, requireKnown } from '../errors/checks.js';
import { type PlanOptions, planKeys, planOf } from './plan.js';
import type { Plant } from './plant.js';
import { type RunResult, run } from './run.js';

export interface ManyOptions extends PlanOptions {
  readonly plant?: Plant;
  /** Looked at before each run. */
  readonly signal?: AbortSignal;
  /** Called after each run. Its result has no hash: nobody compares that many. */
  readonly onRun?: (result: RunResult) => void;
}

export interface ManyResult {
  readonly seedCount: number;
  readonly simulatedMs: number;
  readonly eventCount: number;
  /** What happened how often, in all of them. */
  readonly coverage: ReadonlyMap<string, number>;
  /** The first run with a violation, with which it ended; `undefined` if there was none. */
  readonly failed: RunResult | undefined;
}

const manyKeys: Known<ManyOptions> = { ...planKeys, plant: true, signal: true, onRun: true };

/** Plays the seeds from `from` to `to`, both included, one after the other, until one fails. @throws {OptionError} if there is no such option, model or scenario. */
export async function runMany(
  from: number,
  to: number,
  options: ManyOptions = {},
): Promise<ManyResult> {
  const { plant, signal, onRun, ...planned } = requireKnown('options', options, manyKeys);
  const playing = { isHashed: false, ...(plant !== undefined && { plant }) };
  const coverage = new Map<string, number>();
  let seedCount = 0;
  let simulatedMs = 0;
  let eventCount = 0;
  let failed: RunResult | undefined;
  for (let seed = from; seed <= to && failed === undefined; seed++) {
    signal?.throwIfAborted();
    const result = await run(planOf(seed, planned), playing);
    onRun?.(result);
    seedCount += 1;
    simulatedMs += result.simulatedMs;
    eventCount += result.eventCount;
    for (const [what, count] of result.coverage)
      coverage.set(what, (coverage.get(what) ?? 0) + count);
    if (result.violation !== undefined) failed = result;
  }
  return { seedCount, simulatedMs, eventCount, coverage, failed };
}
