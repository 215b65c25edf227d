import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { playRounds } from '../../support/electorate/rounds.js';
import { type RunningStore, serverStores } from '../../support/electorate/stores.js';

/** The long tier plays many times as many. */
const seed = randomInt(2 ** 31);
const faults = ['kill', 'freeze', 'resign'] as const;
/** What a busy machine adds. */
const busyMs = 2_000;

describe.concurrent.each(serverStores)(
  'leaders on $store',
  { timeout: 90_000 },
  ({ store, ttlMs, noticedWithinMs, start }) => {
    let running: RunningStore;
    beforeAll(async () => {
      running = await start();
    }, 60_000);
    afterAll(() => running?.stop());

    it('are killed, frozen and relieved: no stale write is accepted, and there is a leader again in time', async () => {
      const placeName = { store, ttlMs, url: running.url };
      const report = await playRounds({ placeName, seed, roundCount: faults.length, faults });
      const { violations, surprises, summary, stories } = report;
      expect(violations, `${summary}\n${stories}`).toEqual([]);
      expect(surprises, summary).toEqual([]);
      // That of the one who was frozen, or the witness has seen nothing of what it looks for.
      expect(report.refusedCount, summary).toBeGreaterThanOrEqual(1);
      expect(report.acceptedCount, summary).toBeGreaterThan(5);
      const takeoverMs = ttlMs * 1.25 + noticedWithinMs + busyMs;
      expect(report.slowestTakeoverMs, summary).toBeLessThan(takeoverMs);
    });
  },
);
