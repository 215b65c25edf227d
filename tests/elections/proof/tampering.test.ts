import { describe, expect, it } from 'vitest';
import {
  type Electorate,
  election,
  on,
  renewEveryMs,
  timing,
} from '../../support/electorate/electorate.js';
import { kernelMs } from '../../support/electorate/parent.mjs';
import { placeNames } from '../../support/electorate/places.js';
import { until } from '../../support/until.js';

const foreignText = 'a note of somebody else';
/** A renewal is sent by then, and answered; with what a busy machine adds. */
const heardWithinMs = renewEveryMs + timing.attemptTimeoutMs + 1_000;

async function ledByTwo(electorate: Electorate) {
  const a = await electorate.standing('a');
  const { term } = await electorate.leaderAfter(0, [a]);
  const b = await electorate.standing('b');
  await electorate.untilWaiting(1);
  return { a, b, term };
}

describe.concurrent.each(placeNames)('a hand in the store (%s)', { timeout: 60_000 }, (place) => {
  it(
    'that deletes the record: the leader learns it with its next renewal, and the next term is higher',
    on(place, async (electorate) => {
      const { a, b, term } = await ledByTwo(electorate);
      const deletedAtMs = kernelMs();
      await electorate.tamperable.deleteRecord(electorate.namespace, election);
      const lost = await a.heard('lost');
      expect(lost.reason).toMatch(/^(vanished|superseded)$/);
      expect(lost.atMs - deletedAtMs).toBeLessThan(heardWithinMs);
      const next = await electorate.leaderAfter(term, [a, b]);
      expect(next.term).toBeGreaterThan(term);
      expect(await electorate.violations()).toEqual([]);
    }),
  );

  it(
    'that puts something else in its place: the leader learns it; nobody is elected over it, nor touches it; when it is gone, the election goes on in a higher term',
    on(place, async (electorate) => {
      const { a, b, term } = await ledByTwo(electorate);
      const overwrittenAtMs = kernelMs();
      await electorate.tamperable.overwriteRecord(electorate.namespace, election, foreignText);
      const lost = await a.heard('lost');
      expect(lost).toMatchObject({ term, reason: 'superseded' });
      expect(lost.atMs - overwrittenAtMs).toBeLessThan(heardWithinMs);

      // Who has led tries again and again, and so does who has stood in the queue.
      for (const { story } of [a, b])
        await until('three tries', () => {
          const tries = story.all('campaignFailed');
          return tries.filter(({ error }) => error === 'RecordCorruptError').length > 2;
        });
      const text = await electorate.tamperable.foreignText(electorate.namespace, election);
      expect(text).toBe(foreignText);
      expect([...a.story.all('elected'), ...b.story.all('elected')]).toHaveLength(1);

      await electorate.tamperable.deleteRecord(electorate.namespace, election);
      const next = await electorate.leaderAfter(term, [a, b]);
      expect(next.term).toBeGreaterThan(term);
      expect(await electorate.violations()).toEqual([]);
    }),
  );
});
