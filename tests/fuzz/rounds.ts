import { generator } from './damage.js';

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
