import { realRuntime, sleep } from '../../time/index.js';
import type { Cleanup } from '../cleanup.js';
import { Lateness } from '../lateness.js';
import type { MessageStores } from '../stores.js';
import { createBench } from './bench.js';
import { type Check, type Finding, observerCall, toleranceMs } from './check.js';
import { exclusion } from './checks/exclusion.js';
import { loss } from './checks/loss.js';
import { order } from './checks/order.js';
import { refusal } from './checks/refusal.js';
import { spread } from './checks/spread.js';
import { type SelftestClock, selftestClock } from './clock.js';
import type { Sabotage } from './sabotage.js';

const others: readonly Check[] = [exclusion, loss, order, refusal];

export interface CheckResult {
  readonly name: string;
  readonly claim: string;
  readonly passed: boolean;
  /** It failed, and this machine stood still meanwhile for longer than a claim allows: nobody can tell whose fault it is. */
  readonly undecided: boolean;
  readonly figures: readonly string[];
}

export interface ChecksListener {
  /** The checks begin, on this clock. */
  announced(clock: SelftestClock): void;
  report(result: CheckResult, number: number): void;
}

/**
 * Runs all checks and reports each, in their order, as soon as it and those before it are done.
 *
 * The first one is a burst of work for the processor and the store, which would make the timing of the others lie; they
 * mostly wait, so they run side by side.
 *
 * @throws the errors of the store, if it cannot be reached at all.
 */
export async function runChecks(
  stores: MessageStores,
  sabotages: readonly Sabotage[],
  { announced, report }: ChecksListener,
  signal: AbortSignal,
  cleanup: Cleanup,
): Promise<CheckResult[]> {
  const observer = stores.openCoordinator();
  cleanup.add('a connection', () => observer.close());
  announced(selftestClock(observer.promises));
  await observer.read(['reachable'], observerCall);
  cleanup.add(`the checks' records in ${stores.address}`, () => stores.erase());
  const runOne = (check: Check) => runCheck(check, stores, observer, sabotages);
  const first = runOne(spread);
  await first;
  const running = [first, ...others.map(runOne)];
  const results: CheckResult[] = [];
  for (const result of running) {
    results.push(await result);
    // Whoever interrupts waits for the checks that run, a few seconds at most, and sees no verdict.
    if (!signal.aborted) report(await result, results.length);
  }
  signal.throwIfAborted();
  return results;
}

async function runCheck(
  check: Check,
  stores: MessageStores,
  observer: ReturnType<MessageStores['openCoordinator']>,
  sabotages: readonly Sabotage[],
): Promise<CheckResult> {
  const { name, claim } = check;
  const bench = createBench(name, stores, observer, sabotages);
  const lateness = new Lateness();
  try {
    const finding = await check.run(bench).catch(notCarriedOut);
    // What stood still is measured by a timer, too, and the check may have ended before that had its turn.
    if (!finding.passed) await sleep(realRuntime, 50);
    return { name, claim, ...judged(finding, lateness.maxMs) };
  } finally {
    lateness.stop();
    await bench.close();
  }
}

/** The others still have something to say. */
function notCarriedOut(error: unknown): Finding {
  const message = error instanceof Error ? error.message : String(error);
  return { passed: false, figures: [`could not be carried out: ${message}`] };
}

/** @param stallMs the longest that this process stood still during the check. */
export function judged(
  { passed, isWrong = false, figures }: Finding,
  stallMs: number,
): Pick<CheckResult, 'passed' | 'undecided' | 'figures'> {
  const undecided = !passed && !isWrong && stallMs > toleranceMs;
  const stall = `this machine let nothing run for ${Math.round(stallMs)} ms, and ${toleranceMs} ms are allowed for`;
  return { passed, undecided, figures: undecided ? [...figures, stall] : figures };
}
