import { describe, expect, it } from 'vitest';
import type { ChaosReport } from './run.js';
import { headlineOf, isGood, verdictOf } from './verdict.js';

const good: ChaosReport = {
  ...{ store: 'redis', seed: 1, isFenced: true, durationMs: 1_000, ttlMs: 2_000 },
  ...{ violations: [], accidents: [], hasRecovered: true, faults: [], doubleBeliefs: [] },
  placed: { who: 'a.1', term: 5, wasAccepted: false },
  ...{ acceptedCount: 9, refusedCount: 1, unknownCount: 0, termCount: 2, healedCount: 0 },
  impossible: {},
};

describe('a verdict', () => {
  it('is good if nothing was violated and everybody came back', () => {
    expect(isGood(good)).toBe(true);
    expect(headlineOf(good)).toBe('redis, seed 1: safe, and recovered from every fault');
  });

  it.each<[string, Partial<ChaosReport>, RegExp]>([
    ['a violation', { violations: ['9 of x is there a second time'] }, /- 9 of x is there a/],
    ['a process that ended by itself', { accidents: ['b.1 ended by itself'] }, /- b.1 ended by/],
    ['nobody who writes any more', { hasRecovered: false }, /did not recover/],
    [
      'a stale write that was accepted',
      { placed: { ...good.placed, wasAccepted: true } },
      /\*\*acc/,
    ],
  ])('is bad by %s, and says so', (_, what, text) => {
    const report = { ...good, ...what };
    expect(isGood(report)).toBe(false);
    expect(verdictOf(report)).toMatch(text);
  });

  it('is good without the fence only if that was seen to go wrong', () => {
    const control = { ...good, isFenced: false };
    expect(isGood(control)).toBe(false);
    const placed = { ...good.placed, wasAccepted: true };
    expect(isGood({ ...control, placed, violations: ['5 was accepted after term 7'] })).toBe(true);
  });
});
