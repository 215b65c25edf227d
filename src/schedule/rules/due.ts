import type { CronTimes } from '../cron.js';

/** What becomes of ticks that were not run at their time. */
export type Misfire = 'skip' | 'once' | 'all';

export interface MisfirePolicy {
  readonly misfire: Misfire;
  /** Late by more than this, a tick is a misfire; or sooner, once the next one is due. */
  readonly lateAfterMs: number;
  /** Ticks that are older than this are skipped, whatever the policy. */
  readonly catchUpMs: number;
}

export interface Due {
  /** The tick to run now; `undefined` if there is none. */
  readonly tickMs: number | undefined;
  readonly skipped: SkippedTicks | undefined;
  /** Up to here everything is considered, once the run has begun and what is skipped was written. */
  readonly consideredToMs: number;
  /** When the next tick after that is due; `undefined`: never. It may be due already. */
  readonly nextMs: number | undefined;
}

export interface SkippedTicks {
  /** The first of them. */
  readonly fromMs: number;
  /** They are all before this. */
  readonly beforeMs: number;
  /** How many there are; {@link mostCounted} stands for that many and more. */
  readonly count: number;
}

/** After a long gap ticks are not counted one by one: that takes some 50 ms, in which nothing else happens. */
export const mostCounted = 1_000;

/**
 * What is to be done about the ticks after `consideredToMs` and up to `nowMs`. Of several to be run the oldest comes
 * first; the others are found by asking again.
 *
 * @param untilMs after this time there are no ticks. Default: there is no such time.
 */
export function due(
  times: CronTimes,
  policy: MisfirePolicy,
  consideredToMs: number,
  nowMs: number,
  untilMs = Number.POSITIVE_INFINITY,
): Due {
  const lastOfAllMs = Math.min(nowMs, untilMs);
  const firstMs = times.nextAfter(consideredToMs);
  if (firstMs === undefined || firstMs > lastOfAllMs)
    return { tickMs: undefined, skipped: undefined, consideredToMs, nextMs: firstMs };
  const oldestMs = nowMs - policy.catchUpMs;
  const lastMs = lastUpTo(times, firstMs, lastOfAllMs);
  const chosenMs = policy.misfire === 'all' ? firstFrom(times, firstMs, oldestMs) : lastMs;
  const isToRun =
    chosenMs !== undefined &&
    chosenMs >= oldestMs &&
    chosenMs <= lastOfAllMs &&
    (policy.misfire !== 'skip' || nowMs - chosenMs <= policy.lateAfterMs);
  const consideredTo = isToRun ? chosenMs : lastMs;
  const beforeMs = isToRun ? chosenMs : lastMs + 1;
  return {
    tickMs: isToRun ? chosenMs : undefined,
    skipped: firstMs < beforeMs ? skippedBetween(times, firstMs, beforeMs) : undefined,
    consideredToMs: consideredTo,
    nextMs: times.nextAfter(consideredTo),
  };
}

/** The first tick that is not before `oldestMs`. */
function firstFrom(times: CronTimes, firstMs: number, oldestMs: number): number | undefined {
  return firstMs >= oldestMs ? firstMs : times.nextAfter(oldestMs - 1);
}

/** The last tick up to `nowMs`, of which `firstMs` is one: looked for in ever longer times before it. */
function lastUpTo(times: CronTimes, firstMs: number, nowMs: number): number {
  for (let backMs = 1_000; nowMs - backMs > firstMs; backMs *= 2) {
    const foundMs = times.nextAfter(nowMs - backMs);
    if (foundMs !== undefined && foundMs <= nowMs) return lastFrom(times, foundMs, nowMs);
  }
  return lastFrom(times, firstMs, nowMs);
}

function lastFrom(times: CronTimes, fromMs: number, nowMs: number): number {
  let lastMs = fromMs;
  for (;;) {
    const nextMs = times.nextAfter(lastMs);
    if (nextMs === undefined || nextMs > nowMs) return lastMs;
    lastMs = nextMs;
  }
}

function skippedBetween(times: CronTimes, fromMs: number, beforeMs: number): SkippedTicks {
  let count = 1;
  let tickMs = times.nextAfter(fromMs);
  while (tickMs !== undefined && tickMs < beforeMs && count < mostCounted) {
    count += 1;
    tickMs = times.nextAfter(tickMs);
  }
  return { fromMs, beforeMs, count };
}
