import { OptionError } from '../errors/index.js';

/**
 * The highest term that is believed: the last millisecond a JavaScript date can name (the year 275760).
 *
 * Terms follow a clock in milliseconds (rule T: the largest of last + 1, the store's clock, and `above` + 1), so a
 * higher one is a corrupt or hostile number. It still leaves 3.6e14 safe integers above it.
 */
export const highestTerm = 8_640_000_000_000_000;

export function isTerm(value: unknown): value is number {
  return (
    typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= highestTerm
  );
}

/**
 * How many terms a store may be ahead of the first millisecond of its clock, for each of them: ZooKeeper counts so, and no
 * other store counts faster.
 */
export const mostTermsPerMs = 64;
const yearMs = 365 * 24 * 60 * 60 * 1_000;

/**
 * Whether a store can have granted this term: what a resource tells of it, perhaps across a network, is a reason to ask for
 * a higher one only then. Terms follow a clock, or the transactions of a store, which are fewer; a clock that is a year
 * ahead is one that somebody would have noticed. What is believed leaves nearly all terms above it, whoever lies how often.
 *
 * @param now the wall clock of this process.
 */
export function isCredibleTerm(value: unknown, now: { readonly wallMs: number }): value is number {
  return isTerm(value) && value < highestTerm && value <= (now.wallMs + yearMs) * mostTermsPerMs;
}

/** @throws {OptionError} unless `term` is an integer from 1 to {@link highestTerm}. */
export function validateTerm(term: number, option = 'term'): number {
  if (isTerm(term)) return term;
  throw new OptionError(option, term, 'is not a term', `use an integer from 1 to ${highestTerm}`);
}

/** Rule T, for stores that compute it in this process: `above` is the highest term seen at the resource, if any. */
export function nextTerm(lastTerm: number, storeClockMs: number, above = 0): number {
  return Math.max(lastTerm + 1, Math.floor(storeClockMs), above + 1);
}
