import { randomInt } from 'node:crypto';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { ensureBuilt } from '../../scripts/bootstrap.mjs';
import type { Verdict } from '../schedule/processes/ledger.js';
import {
  noViolations,
  type ProcessesReport,
  runProcesses,
  type StoreName,
  storeNames,
  violationsOf,
} from '../schedule/processes/run.js';

/**
 * TENURE_LONG_TICKS: how many ticks on each store (1,000), of ten jobs side by side. TENURE_LONG_SEED: what happens to the
 * replicas; the processes take their own time all the same. TENURE_STORES: on which stores.
 */
const tickCount = Number(process.env.TENURE_LONG_TICKS ?? 1_000);
const firstSeed = Number(process.env.TENURE_LONG_SEED ?? randomInt(2 ** 31));
const jobCount = 10;
const limitMs = 600_000;

// Replicas import the package by its name, so what runs is what was built.
beforeAll(() => ensureBuilt());

async function run(
  storeName: StoreName,
  isFenced: boolean,
  count: number,
  seed = firstSeed,
): Promise<ProcessesReport> {
  const report = await runProcesses({
    ...{ storeName, seed, jobCount, isFenced, ticksPerJob: Math.ceil(count / jobCount) },
    ...{ redisUrl: inject('redisUrl'), postgresUrl: inject('postgresUrl') },
  });
  console.log(report.summary);
  return report;
}

describe('replicas that are killed, frozen and skewed', () => {
  const verdicts: Verdict[] = [];

  it.each(storeNames)(
    'run each tick once, and none is missing (%s)',
    async (storeName) => {
      const { verdict, accidents, summary, output } = await run(storeName, true, tickCount);
      verdicts.push(verdict);
      expect(accidents, summary).toEqual([]);
      expect(violationsOf(verdict), `${summary}\n${output}`).toEqual(noViolations);
      expect(verdict.ticks).toBeGreaterThanOrEqual(tickCount);
    },
    limitMs,
  );

  // A few ticks, for one seed again, need not have seen everything.
  it.skipIf(tickCount < 1_000)('were succeeded, resumed and refused', () => {
    for (const { terms, resumed, refused } of verdicts) {
      expect(terms).toBeGreaterThan(5);
      expect(resumed).toBeGreaterThan(0);
      expect(refused).toBeGreaterThan(0);
    }
  });
});

/** As a rule the first suffices. */
const controlCount = 8;

describe('the same without a fence, and without a row that is there only once', () => {
  it.each(storeNames)(
    'runs ticks twice, and the witness says so (%s)',
    async (storeName) => {
      const seen = { endedTwice: 0, staleEffects: 0 };
      for (let attempt = 0; attempt < controlCount; attempt++) {
        const { verdict } = await run(storeName, false, 200, firstSeed + attempt);
        seen.endedTwice += verdict.endedTwice;
        seen.staleEffects += verdict.staleEffects;
        if (seen.endedTwice > 0 && seen.staleEffects > 0) return;
      }
      expect.fail('no violation in any run: the rig cannot see what it looks for');
    },
    controlCount * limitMs,
  );
});
