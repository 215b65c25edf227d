import { describe, expect, it } from 'vitest';
import { explain, type ManyResult, runMany } from '../../src/sim/index.js';

/** How many seeds one test plays. */
const portion = 100;

/** Plays the seeds; of the first that fails it shows the seed, the faults that it takes, and the end of the trace. */
export async function playClean(from: number, to: number): Promise<ManyResult> {
  const result = await runMany(from, to);
  if (result.failed === undefined) return result;
  const { summary, trace } = await explain(result.failed);
  throw new Error([...summary, ...trace.slice(-60)].join('\n'));
}

/** A suite that plays the seeds from `from` to `to`, and looks at what they covered together. */
export function registerSeeds(from: number, to: number, covered: readonly string[]): void {
  const coverage = new Map<string, number>();

  describe(`the simulator, seeds ${from} to ${to}`, { timeout: 300_000 }, () => {
    for (let first = from; first <= to; first += portion) {
      const last = Math.min(first + portion - 1, to);
      it(`violate nothing from ${first} to ${last}`, async () => {
        const { coverage: more, seedCount } = await playClean(first, last);
        expect(seedCount).toBe(last - first + 1);
        for (const [what, count] of more) coverage.set(what, (coverage.get(what) ?? 0) + count);
      });
    }

    it('see what there is to see', () => {
      expect(covered.filter((what) => !coverage.has(what))).toEqual([]);
    });
  });
}
