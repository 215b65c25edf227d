import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextTerm } from '../../src/coordinators/index.js';
import { chooseTerm } from '../../src/coordinators/redis-quorum/grants/verdict.js';
import { majorityOf } from '../../src/coordinators/redis-quorum/majority.js';

/** One grant of one name: whom it reached, whom the confirmation reached, and what the nodes' clocks showed. */
interface Step {
  /** The order in which nodes answer. */
  readonly order: readonly number[];
  /** How many answers beyond a majority were waited for. */
  readonly extraCount: number;
  /** How many milliseconds pass before it. */
  readonly pauseMs: number;
}

/**
 * Nodes in memory, each with a last term and a clock that is off by its own amount. A grant is decided by whoever answers
 * first, and released before the next.
 */
function grantAll(
  steps: readonly Step[],
  clockErrorsMs: readonly number[],
  writesBack: boolean,
): number[] {
  const majority = majorityOf(clockErrorsMs.length);
  const last = clockErrorsMs.map(() => 0);
  let nowMs = 1_000;
  return steps.map(({ order, extraCount, pauseMs }) => {
    nowMs += pauseMs;
    const asked = order.slice(0, majority + extraCount);
    const terms = asked.map((node) => {
      const term = nextTerm(last[node] ?? 0, nowMs + (clockErrorsMs[node] ?? 0));
      last[node] = term;
      return term;
    });
    const term = chooseTerm(terms, majority);
    // The confirmation reaches a bare majority of those, and no more.
    if (writesBack)
      for (const node of asked.slice(0, majority)) last[node] = Math.max(last[node] ?? 0, term);
    return term;
  });
}

function firstFall(terms: readonly number[]): number {
  return terms.findIndex((term, index) => index > 0 && term <= (terms[index - 1] ?? 0));
}

const run = fc.integer({ min: 3, max: 7 }).chain((nodeCount) => {
  const nodes = Array.from({ length: nodeCount }, (_, node) => node);
  return fc.record({
    clockErrorsMs: fc.array(fc.integer({ min: -500, max: 500 }), {
      minLength: nodeCount,
      maxLength: nodeCount,
    }),
    steps: fc.array(
      fc.record({
        order: fc.shuffledSubarray(nodes, { minLength: nodeCount, maxLength: nodeCount }),
        extraCount: fc.integer({ min: 0, max: 2 }),
        pauseMs: fc.integer({ min: 0, max: 20 }),
      }),
      { minLength: 2, maxLength: 30 },
    ),
  });
});

describe('the term of a quorum', () => {
  it('rises from grant to grant, whichever majority answers, if it is written back to one', () => {
    fc.assert(
      fc.property(run, ({ steps, clockErrorsMs }) => {
        expect(firstFall(grantAll(steps, clockErrorsMs, true))).toBe(-1);
      }),
      { numRuns: 2_000 },
    );
  });

  it('falls without the write-back: another majority has not heard of it', () => {
    const falls = fc.check(
      fc.property(
        run,
        ({ steps, clockErrorsMs }) => firstFall(grantAll(steps, clockErrorsMs, false)) === -1,
      ),
      { numRuns: 2_000 },
    );
    expect(falls.failed).toBe(true);
  });

  it('falls without the write-back in two grants of three nodes, of which one clock is ahead', () => {
    const steps: Step[] = [
      { order: [0, 1, 2], extraCount: 0, pauseMs: 0 },
      { order: [1, 2, 0], extraCount: 0, pauseMs: 5 },
    ];
    const clockErrorsMs = [100, 0, 0];
    expect(grantAll(steps, clockErrorsMs, false)).toEqual([1_100, 1_005]);
    expect(grantAll(steps, clockErrorsMs, true)).toEqual([1_100, 1_101]);
  });

  it('is the one that a majority has agreed on before, however high those of others are', () => {
    expect(chooseTerm([7, 7, 9, 7, 12], 3)).toBe(7);
    expect(chooseTerm([7, 7, 9], 3)).toBe(9);
  });
});
