import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { takeoverMs, ttlMs as usualTtlMs } from '../support/electorate/electorate.js';
import { placeNames } from '../support/electorate/places.js';
import { playRounds, type RoundsReport } from '../support/electorate/rounds.js';
import { type RunningStore, serverStores } from '../support/electorate/stores.js';

/**
 * TENURE_LONG_ROUNDS: how many rounds on each store (200), played in groups. TENURE_LONG_SEED: the seed of the first group,
 * the others follow it; a group is repeated with its seed and TENURE_LONG_ROUNDS=20, which repeats its plan.
 */
const roundCount = Number(process.env.TENURE_LONG_ROUNDS ?? 200);
const firstSeed = Number(process.env.TENURE_LONG_SEED ?? randomInt(2 ** 31));
const groupSize = 20;
const seeds = Array.from(
  { length: Math.ceil(roundCount / groupSize) },
  (_, index) => firstSeed + index,
);
const limitMs = 240_000;

describe('leaders that are killed, frozen, put to sleep and relieved', () => {
  const reports: RoundsReport[] = [];

  it.each(seeds)(
    'write nothing stale, and are succeeded in time (seed %i)',
    async (seed) => {
      const options = { seed, roundCount: groupSize };
      const played = placeNames.map((placeName) => playRounds({ placeName, ...options }));
      for (const report of await Promise.all(played)) {
        const { violations, surprises, summary, stories } = report;
        console.log(summary);
        reports.push(report);
        expect(violations, `${summary}\n${stories}`).toEqual([]);
        expect(surprises, summary).toEqual([]);
        expect(report.slowestTakeoverMs, summary).toBeLessThan(takeoverMs);
      }
    },
    limitMs,
  );

  it('tried to write in terms that were over', () => {
    const refusedCount = reports.reduce((sum, report) => sum + report.refusedCount, 0);
    console.log(`${reports.length} groups from seed ${firstSeed}: refused ${refusedCount}`);
    expect(refusedCount).toBeGreaterThanOrEqual(reports.length);
  });
});

describe.each(serverStores)('the same on $store', ({ store, ttlMs, noticedWithinMs, start }) => {
  let running: RunningStore;
  beforeAll(async () => {
    running = await start();
  });
  afterAll(() => running?.stop());

  it.each(seeds)(
    'write nothing stale, and are succeeded in time (seed %i)',
    async (seed) => {
      const placeName = { store, ttlMs, url: running.url };
      const report = await playRounds({ placeName, seed, roundCount: groupSize });
      const { violations, surprises, summary, stories } = report;
      console.log(summary);
      expect(violations, `${summary}\n${stories}`).toEqual([]);
      expect(surprises, summary).toEqual([]);
      const limitOfTakeoverMs = takeoverMs + (ttlMs - usualTtlMs) * 1.25 + noticedWithinMs;
      expect(report.slowestTakeoverMs, summary).toBeLessThan(limitOfTakeoverMs);
    },
    limitMs,
  );
});

describe('the same without a fence', () => {
  it.each(placeNames)(
    'writes stale things, and the witness says so (%s)',
    async (placeName) => {
      const options = { placeName, seed: firstSeed, roundCount: groupSize, isFenced: false };
      const { violations, summary } = await playRounds(options);
      console.log(summary);
      expect(violations, summary).not.toEqual([]);
    },
    limitMs,
  );
});
