import { randomInt } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { takeoverMs } from '../../support/electorate/electorate.js';
import { placeNames } from '../../support/electorate/places.js';
import { playRounds } from '../../support/electorate/rounds.js';

/** A tenth of what the long tier plays. */
const seed = randomInt(2 ** 31);

describe.concurrent.each(placeNames)('leaders on %s', { timeout: 180_000 }, (placeName) => {
  it('are killed, frozen, put to sleep and relieved, ten times: no stale write is accepted, and there is a leader again in time', async () => {
    const report = await playRounds({ placeName, seed, roundCount: 10 });
    const { violations, surprises, summary, stories } = report;
    expect(violations, `${summary}\n${stories}`).toEqual([]);
    expect(surprises, summary).toEqual([]);
    // One for each freeze, or the witness has seen nothing of what it looks for.
    expect(report.refusedCount, summary).toBeGreaterThanOrEqual(3);
    expect(report.acceptedCount, summary).toBeGreaterThan(20);
    expect(report.slowestTakeoverMs, summary).toBeLessThan(takeoverMs);
  });

  it('are frozen, without a fence: the witness sees stale writes accepted', async () => {
    const options = {
      placeName,
      seed,
      roundCount: 2,
      isFenced: false,
      faults: ['freeze'],
    } as const;
    const { violations, summary } = await playRounds(options);
    expect(violations, summary).toContainEqual(
      expect.stringMatching(/was accepted after term \d+/),
    );
  });
});
