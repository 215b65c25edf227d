import { type Facts, refusedCountOf } from './facts.js';
import type { JudgedEnding } from './verdict.js';

/** What happened in one part of the time, side by side. */
export interface TimelinePart {
  readonly fromMs: number;
  readonly toMs: number;
  readonly lostCount: number;
  /** Terms that ended because somebody wanted it: deploys, above all. */
  readonly plannedCount: number;
  readonly actCount: number;
  /** What fences refused: of each term counted where the last was. */
  readonly refusedCount: number;
  /** Of the renewals seen at the losses there: the slowest of a hundred, in milliseconds. */
  readonly roundTripMs: number | undefined;
  /** The share of time in which holders waited for a processor before their losses, 0 to 1. */
  readonly waitedShare: number | undefined;
}

/** The time in equal parts, oldest first. Pure. */
export function timelineOf(
  { fromMs, toMs, acts, refusals }: Facts,
  judged: readonly JudgedEnding[],
  isPlanned: (ending: JudgedEnding) => boolean,
  partCount = 12,
): TimelinePart[] {
  const partMs = (toMs - fromMs) / partCount;
  return Array.from({ length: partCount }, (_, index) => {
    const part = { fromMs: fromMs + index * partMs, toMs: fromMs + (index + 1) * partMs };
    const isWithin = (atMs: number) => atMs >= part.fromMs && atMs < part.toMs;
    const ended = judged.filter(({ endedAtMs }) => isWithin(endedAtMs));
    const losses = ended.flatMap(({ loss }) => loss ?? []);
    const plannedCount = ended.filter(isPlanned).length;
    return {
      ...part,
      lostCount: ended.length - plannedCount,
      plannedCount,
      actCount: acts.filter(({ atMs }) => isWithin(atMs)).length,
      refusedCount: refusedCountOf(refusals.filter(({ atMs }) => isWithin(atMs))),
      roundTripMs: largest(losses.map(({ renewals }) => renewals.slowMs)),
      waitedShare: largest(
        losses.flatMap(({ machine: { all } }) =>
          all.waitedMs === undefined || all.forMs === 0
            ? []
            : Math.min(1, all.waitedMs / all.forMs),
        ),
      ),
    };
  });
}

function largest(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : Math.max(...numbers);
}
