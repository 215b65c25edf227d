import { describe, expect, it } from 'vitest';
import { type Event, planOf } from './plan.js';

const kinds = ['kill', 'freeze', 'cut off', 'server killed', 'evicted'];
const companions = ['kill', 'freeze', 'cut off'];

function first(count: number, seed: number): Event[] {
  const plan = planOf({ seed, kinds, companions, ttlMs: 1_000 });
  return Array.from({ length: count }, () => plan.next().value);
}

describe('a plan', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(first(40, 7)).toEqual(first(40, 7));
    expect(first(40, 7)).not.toEqual(first(40, 8));
  });

  it('has every kind once before one comes again', () => {
    const drawn = first(15, 7).map(({ step }) => step.kind);
    for (const from of [0, 5, 10])
      expect([...drawn.slice(from, from + 5)].sort()).toEqual([...kinds].sort());
  });

  it('never does two things to one store at once, and some at once all the same', () => {
    const drawn = first(200, 7).flatMap(({ companion }) => (companion ? [companion.kind] : []));
    expect(drawn.length).toBeGreaterThan(0);
    expect(drawn.filter((kind) => !companions.includes(kind))).toEqual([]);
  });
});
