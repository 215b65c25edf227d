import { generator } from './generator.js';

/** Set by the long tier: everything that is known, and more rounds of what is drawn. */
export const isLong = process.env.TENURE_LONG_FUZZ !== undefined;

/** So many of them, the same in each run; in the long tier all. */
export function fewOrAll<Value>(values: readonly Value[], count: number, seed: number): Value[] {
  if (isLong) return [...values];
  const random = generator(seed);
  const left = [...values];
  return Array.from({ length: Math.min(count, left.length) }, () => {
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
