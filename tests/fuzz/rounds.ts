import { generator } from './generator.js';

/** Set by the long tier: everything that is known, and more rounds of what is drawn. */
export const isLong = process.env.TENURE_LONG_FUZZ !== undefined;

/** As many as a real store is asked about in the long tier, at most, of each kind. */
const mostMany = 1_000;

/** So many of them, the same in each run; in the long tier all, or a thousand. */
export function fewOrAll<Value>(values: readonly Value[], count: number, seed: number): Value[] {
  const random = generator(seed);
  const left = [...values];
  return Array.from({ length: Math.min(isLong ? mostMany : count, left.length) }, () => {
    const [taken] = left.splice(random(left.length), 1);
    return taken as Value;
  });
}

/** How many of what is drawn, in every run and in the long tier. */
export function rounds(few: number, many: number): number {
  return isLong ? many : few;
}

/** Of one test: what is drawn in the long tier takes minutes. */
export const longestMs = rounds(60_000, 30 * 60_000);
