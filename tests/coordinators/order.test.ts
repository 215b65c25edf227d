import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareCandidates, type Ranked } from '../../src/coordinators/order.js';

const candidate: fc.Arbitrary<Ranked> = fc.record({
  standing: fc.constantFrom('waiting' as const, 'present' as const, 'observing' as const),
  preference: fc.nat({ max: 3 }),
  since: fc.nat({ max: 3 }),
  id: fc.constantFrom('a', 'b', 'B', 'ä'),
  digest: fc.constantFrom('0', '1', '2'),
});

describe('the order of candidates', () => {
  it('is the same from both sides, and 0 only for one and the same', () => {
    fc.assert(
      fc.property(candidate, candidate, (one, other) => {
        const order = Math.sign(compareCandidates(one, other));
        expect(order + Math.sign(compareCandidates(other, one))).toBe(0);
        if (order === 0) expect([other.id, other.digest]).toEqual([one.id, one.digest]);
      }),
    );
  });

  it('goes on from one to the next', () => {
    fc.assert(
      fc.property(candidate, candidate, candidate, (one, other, third) => {
        const isRising = compareCandidates(one, other) < 0 && compareCandidates(other, third) < 0;
        if (isRising) expect(compareCandidates(one, third)).toBeLessThan(0);
      }),
      { numRuns: 1000 },
    );
  });

  it('does not ask the id of who waits before preference and time, nor the preference of the rest', () => {
    const usual = { standing: 'waiting', preference: 0, since: 1, digest: '0' } as const;
    const ranked: Ranked[] = [
      { ...usual, id: 'z', preference: 1, since: 2 },
      { ...usual, id: 'y', since: 0 },
      { ...usual, id: 'a' },
      { ...usual, id: 'b' },
      { ...usual, id: 'B', standing: 'observing' },
      { ...usual, id: 'c', standing: 'observing', digest: '1' },
      { ...usual, id: 'c', standing: 'present', preference: 9, digest: '2' },
    ];
    expect([...ranked].reverse().sort(compareCandidates)).toEqual(ranked);
  });
});
