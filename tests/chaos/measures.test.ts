import { describe, expect, it } from 'vitest';
import type { Line } from './history.js';
import { beliefsIn, doubleBeliefsIn, faultsIn, turnedAwayIn } from './measures.js';

const at = (atMs: number, who: string, event: string, facts: object = {}): Line => ({
  atMs,
  who,
  event,
  ...facts,
});
const elected = (atMs: number, who: string, term: number, untilMs: number) =>
  at(atMs, who, 'elected', { term, untilMs });

describe('a belief', () => {
  it('lasts until it is told to be over', () => {
    const lines = [elected(0, 'a.1', 5, 100), at(60, 'a.1', 'aborted', { term: 5 })];
    expect(beliefsIn(lines)).toEqual([{ who: 'a.1', term: 5, fromMs: 0, untilMs: 60 }]);
  });

  it('lasts as long as the last renewal was good for, if its end is told later by one who was frozen', () => {
    const renewed = at(50, 'a.1', 'good', { term: 5, untilMs: 150 });
    const lines = [elected(0, 'a.1', 5, 100), renewed, at(900, 'a.1', 'lost', { term: 5 })];
    expect(beliefsIn(lines)).toMatchObject([{ untilMs: 150 }]);
  });

  it('ends with the process', () => {
    const lines = [elected(0, 'a.1', 5, 100), at(30, 'nemesis', 'ended', { holder: 'a.1' })];
    expect(beliefsIn(lines)).toMatchObject([{ untilMs: 30 }]);
  });

  it('is double for as long as another one overlaps it', () => {
    const lines = [
      elected(0, 'a.1', 5, 100),
      elected(70, 'b.1', 6, 200),
      elected(250, 'c.1', 7, 300),
    ];
    expect(doubleBeliefsIn(beliefsIn(lines))).toMatchObject([
      { older: { who: 'a.1' }, newer: { who: 'b.1' }, fromMs: 70, lastedMs: 30 },
    ]);
  });
});

describe('a fault', () => {
  const begins = (atMs: number, fault: number, kind: string) =>
    at(atMs, 'nemesis', 'faultBegins', { fault, kind });
  const recovered = (atMs: number, fault: number) => at(atMs, 'nemesis', 'recovered', { fault });
  const wrote = (atMs: number) => at(atMs, 'a.1', 'wrote');

  it('is measured from the last write before it to the first one after it, and by what was told meanwhile', () => {
    const lines = [
      ...[wrote(0), wrote(10), begins(12, 1, 'kill'), at(13, 'nemesis', 'ended'), wrote(90)],
      ...[recovered(91, 1), begins(100, 2, 'reset'), wrote(101), recovered(102, 2)],
    ];
    expect(faultsIn(lines)).toMatchObject([
      { kind: 'kill', hadEffect: true, longestSilenceMs: 80, recoveredAtMs: 91 },
      { kind: 'reset', hadEffect: false, longestSilenceMs: 11, recoveredAtMs: 102 },
    ]);
  });

  it('tells what came in the middle of it, whether it could be begun, and that nobody recovered from it', () => {
    const failed = at(3, 'nemesis', 'faultFailed', { fault: 1, kind: 'cut off' });
    const lines = [wrote(0), begins(1, 1, 'kill'), begins(2, 1, 'cut off'), failed];
    expect(faultsIn(lines)).toMatchObject([
      { kind: 'kill', with: ['cut off'], hasFailed: false, recoveredAtMs: undefined },
      { kind: 'cut off', with: ['kill'], hasFailed: true },
    ]);
  });
});

describe('who is turned away', () => {
  const denied = { error: 'StoreMisconfiguredError', message: 'a right is missing' };
  const fault = [
    at(1_000, 'nemesis', 'faultBegins', { fault: 1, kind: 'password changed' }),
    at(2_000, 'nemesis', 'recovered', { fault: 1 }),
  ];

  it('is told of if nothing is wrong with the store', () => {
    for (const atMs of [500, 60_000])
      expect(turnedAwayIn([...fault, at(atMs, 'b.1', 'leadFailed', denied)])).toEqual([
        'b.1 was turned away by a sound store: StoreMisconfiguredError: a right is missing',
      ]);
  });

  it('is nothing new in a fault, and a moment after it', () => {
    for (const atMs of [1_500, 5_000])
      expect(turnedAwayIn([...fault, at(atMs, 'b.1', 'leadFailed', denied)])).toEqual([]);
  });
});
