import type { Cause } from './cause.js';

/** What one time was like. It begins where the history does, if lines of it were pushed out. */
export interface Period {
  readonly fromMs: number;
  readonly toMs: number;
  readonly termCount: number;
  /** Terms that nobody wanted to end. */
  readonly lostCount: number;
  readonly plannedCount: number;
  /**
   * How long nobody led: until the next grant, from when the store ended a term or, where its holder told, from when that gave
   * it up or stood still.
   */
  readonly vacantMs: number;
  /** The longest of that at a time: for so long the work waited. */
  readonly longestVacantMs: number;
  /** What fences refused of owners whose term was over, as far as these told it. */
  readonly refusedCount: number;
  /** How many terms each cause ended. */
  readonly causes: Readonly<Partial<Record<Cause, number>>>;
}

/** Of losses, per time; `too-few`: so few that chance explains the difference, or nothing is kept of the time before. */
export type Change = 'better' | 'worse' | 'same' | 'too-few';

export interface Comparison {
  readonly before: Period;
  readonly change: Change;
}

/** Counts of chance differ by this many of their standard deviations in one case of twenty. */
const deviations = 2;

/** Whether terms are lost at another rate than before. Pure. */
export function compare(before: Period, now: Period): Comparison {
  return { before, change: changeOf(before, now) };
}

function changeOf(before: Period, now: Period): Change {
  const spanBefore = before.toMs - before.fromMs;
  const spanNow = now.toMs - now.fromMs;
  const total = before.lostCount + now.lostCount;
  if (spanBefore <= 0) return 'too-few';
  if (total === 0) return 'same';
  // Were the rate the same, each loss would fall into one of the two by the share of its time.
  const expected = (total * spanNow) / (spanBefore + spanNow);
  const deviation = Math.sqrt((expected * spanBefore) / (spanBefore + spanNow));
  const difference = now.lostCount - expected;
  if (Math.abs(difference) > deviations * deviation) return difference > 0 ? 'worse' : 'better';
  return total < 6 ? 'too-few' : 'same';
}
