import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { selectedStores } from '../../scripts/stores.mjs';
import {
  type ServedStore,
  takeoverMs,
  ttlMs as usualTtlMs,
} from '../support/electorate/electorate.js';
import { placeNames as allPlaceNames, type PlaceName } from '../support/electorate/places.js';
import { playRounds, type RoundsReport } from '../support/electorate/rounds.js';
import { type RunningStore, serverStores } from '../support/electorate/stores.js';

/**
 * TENURE_LONG_ROUNDS: how many rounds on each store (120), played in groups, on some stores at once. TENURE_LONG_SEED: the
 * seed of the first group, the others follow it; a group is repeated with its seed and TENURE_LONG_ROUNDS=20, which repeats
 * its plan. TENURE_STORES: on which stores.
 */
const roundCount = Number(process.env.TENURE_LONG_ROUNDS ?? 120);
const firstSeed = Number(process.env.TENURE_LONG_SEED ?? randomInt(2 ** 31));
const placeNames = allPlaceNames.filter((name) => selectedStores().includes(name.toLowerCase()));
const groupSize = 20;
const seeds = Array.from(
  { length: Math.ceil(roundCount / groupSize) },
  (_, index) => firstSeed + index,
);
/** So many that two cores do not make anybody late: a round is mostly waiting. */
const storesAtOnce = 4;
const limitMs = 600_000;

interface Stage {
  readonly placeName: PlaceName | ServedStore;
  readonly limitOfTakeoverMs: number;
}

interface Played extends Stage {
  readonly report: RoundsReport;
}

async function playOnAll(stages: readonly Stage[], seed: number): Promise<Played[]> {
  const [some, others] = [stages.slice(0, storesAtOnce), stages.slice(storesAtOnce)];
  if (some.length === 0) return [];
  return [...(await playAtOnce(some, seed)), ...(await playOnAll(others, seed))];
}

async function playAtOnce(stages: readonly Stage[], seed: number): Promise<Played[]> {
  const playing = stages.map(async (stage) => {
    const { placeName } = stage;
    const report = await playRounds({ placeName, seed, roundCount: groupSize });
    console.log(report.summary);
    return { ...stage, report };
  });
  // What goes wrong on one store must not leave the processes of the others behind.
  await Promise.allSettled(playing);
  return await Promise.all(playing);
}

describe('leaders that are killed, frozen, put to sleep and relieved, on every store', () => {
  const running: RunningStore[] = [];
  const stages: Stage[] = placeNames.map((placeName) => {
    return { placeName, limitOfTakeoverMs: takeoverMs };
  });
  const reports: RoundsReport[] = [];

  beforeAll(async () => {
    const starting = serverStores.map(async ({ store, ttlMs, noticedWithinMs, start }) => {
      const server = await start();
      running.push(server);
      const limitOfTakeoverMs = takeoverMs + (ttlMs - usualTtlMs) * 1.25 + noticedWithinMs;
      stages.push({ placeName: { store, ttlMs, url: server.url }, limitOfTakeoverMs });
    });
    await Promise.allSettled(starting);
    await Promise.all(starting);
  }, limitMs);
  afterAll(async () => {
    await Promise.all(running.map((server) => server.stop()));
  });

  it.each(seeds)(
    'write nothing stale, and are succeeded in time (seed %i)',
    async (seed) => {
      for (const { report, limitOfTakeoverMs } of await playOnAll(stages, seed)) {
        const { violations, surprises, summary, stories } = report;
        reports.push(report);
        expect.soft(violations, `${summary}\n${stories}`).toEqual([]);
        expect.soft(surprises, summary).toEqual([]);
        expect.soft(report.slowestTakeoverMs, summary).toBeLessThan(limitOfTakeoverMs);
      }
    },
    limitMs,
  );

  it('tried to write in terms that were over', () => {
    const refusedCount = reports.reduce((sum, report) => sum + report.refusedCount, 0);
    const rounds = reports.length * groupSize;
    console.log(`${rounds} rounds from seed ${firstSeed}: refused ${refusedCount}`);
    expect(reports).toHaveLength(stages.length * seeds.length);
    expect(refusedCount).toBeGreaterThanOrEqual(reports.length);
  });
});

describe.concurrent('the same without a fence', () => {
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
