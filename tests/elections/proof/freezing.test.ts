import { describe, expect, it } from 'vitest';
import { on, ttlMs } from '../../support/electorate/electorate.js';
import { placeNames } from '../../support/electorate/places.js';

describe.concurrent.each(placeNames)('on %s, a leader', { timeout: 60_000 }, (place) => {
  it.each(['main', 'thread'] as const)(
    'that was stopped beyond the ttl has no lease in the first statement after it wakes, and its late write is refused (renewed from: %s)',
    (renewFrom) =>
      on(place, async (electorate) => {
        const a = await electorate.standing('a', { leases: { renewFrom } });
        const { term } = await electorate.leaderAfter(0, [a]);
        const b = await electorate.standing('b');
        await electorate.untilWaiting(1);
        const woken = await electorate.freeze(a, () => electorate.leaderAfter(term, [b]));
        expect(woken).toMatchObject({ state: 'lost', term, wasAccepted: false });
        expect((await a.heard('lost')).term).toBe(term);
        const { state, term: later } = await b.state();
        expect(state).toBe('held');
        expect(later).toBeGreaterThan(term);
        expect(a.story.all('lost')).toHaveLength(1);
        expect(await electorate.violations()).toEqual([]);
      })(),
  );

  it(
    'whose event loop stood still for two ttls has no lease in its first statement after that, and another leads meanwhile',
    on(place, async (electorate) => {
      const a = await electorate.standing('a');
      const { term } = await electorate.leaderAfter(0, [a]);
      const b = await electorate.standing('b');
      await electorate.untilWaiting(1);
      const blocked = a.block(2 * ttlMs);
      const { term: later } = await electorate.leaderAfter(term, [b]);
      expect(later).toBeGreaterThan(term);
      expect(await blocked).toMatchObject({ state: 'lost', term, wasAccepted: false });
      expect(await b.state()).toMatchObject({ state: 'held', term: later });
      expect(await electorate.violations()).toEqual([]);
    }),
  );
});
