import { describe, expect, it } from 'vitest';
import { type Guards, QuorumModel } from './redis-quorum-model.js';

const seeds = Array.from({ length: 300 }, (_, index) => index + 1);
const stepCount = 1_500;
const all: Guards = {
  keepsOut: true,
  waits: true,
  confirms: true,
  checksMemories: true,
  adopts: 'confirmed',
};
/** What the seeds were found with that are remembered. */
const before: Guards = { ...all, adopts: 'never' };

function runs(
  guards: Guards,
  ofSeeds: readonly number[] = seeds,
): { readonly seed: number; readonly model: QuorumModel }[] {
  return ofSeeds.map((seed) => {
    const model = new QuorumModel(seed, guards);
    model.run(stepCount);
    return { seed, model };
  });
}

const falls = ({ terms }: QuorumModel) =>
  terms.some((term, index) => index > 0 && term <= (terms[index - 1] ?? 0));

describe('a quorum whose minority loses its memory again and again', () => {
  const whole = runs(all);

  it('never has two holders', () => {
    const overlaps = whole.filter(({ model }) => model.overlap !== undefined);
    expect(overlaps.map(({ seed, model }) => `seed ${seed}: ${model.overlap}`)).toEqual([]);
  });

  it('never has two holders where it would without one of its guards', () => {
    for (const { seed, model } of runs(before, [2_393, 2_876, 3_179, 10_464]))
      expect([seed, model.overlap]).toEqual([seed, undefined]);
  });

  it('lets no term fall', () => {
    expect(whole.filter(({ model }) => falls(model)).map(({ seed }) => `seed ${seed}`)).toEqual([]);
  });

  it('lets no term fall when what a minority had was given back, and its attempt is made again', () => {
    // Their terms fell as long as a lease that was given back was a vote for its own attempt.
    for (const { seed, model } of runs(before, [6_792, 12_910, 19_614]))
      expect([seed, falls(model), model.overlap]).toEqual([seed, false, undefined]);
  });

  it('shows no lease at a majority that no majority confirmed', () => {
    expect(whole.filter(({ model }) => model.phantom !== undefined)).toEqual([]);
  });

  it('would show such a lease if nodes without a claim were given it with the confirmation', () => {
    const broken = runs({ ...all, adopts: 'at once' });
    expect(broken.some(({ model }) => model.phantom !== undefined)).toBe(true);
  });

  it('grants, loses, adopts and gives back in these runs', () => {
    const grants = whole.reduce((sum, { model }) => sum + model.terms.length, 0);
    const seedings = whole.reduce((sum, { model }) => sum + model.reseededCount, 0);
    const adoptions = whole.reduce((sum, { model }) => sum + model.adoptedCount, 0);
    expect([grants > 500, seedings > 500, adoptions > 100]).toEqual([true, true, true]);
  });

  it('would have two holders if a node without its memory had a vote', () => {
    const broken = runs({ ...all, keepsOut: false });
    expect(broken.some(({ model }) => model.overlap !== undefined)).toBe(true);
    expect(broken.some(({ model }) => falls(model))).toBe(true);
  });

  it('would have two holders if such a node did not wait for what is still on its way', () => {
    // Rare: 5 of 12,000 seeds, since what is given back is no vote for its own attempt.
    const broken = runs({ ...before, waits: false }, [2_393, 2_876, 3_179]);
    expect(broken.some(({ model }) => model.overlap !== undefined)).toBe(true);
  });

  it('would have two holders if votes counted beside later ones whatever their nodes have lost since', () => {
    // 1 of 12,000 seeds, for the same reason.
    const broken = runs({ ...before, checksMemories: false }, [10_464]);
    expect(broken.some(({ model }) => model.overlap !== undefined)).toBe(true);
  });

  it('would have two holders, or falling terms, if a grant counted before it was confirmed', () => {
    const broken = runs({ ...all, confirms: false });
    expect(broken.some(({ model }) => model.overlap !== undefined || falls(model))).toBe(true);
  });
});
