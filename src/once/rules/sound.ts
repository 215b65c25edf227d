import { longestTtlMs } from '../../coordinators/index.js';

/*
 * What a record may hold. Whoever else has written it may have put anything there, and no effect is called, nor a record
 * changed, on the word of one that cannot be true.
 */

/** The longest time an effect may take. */
export const longestEffectMs = longestTtlMs;
/** The last moment that a date can name. */
export const latestMs = 8_640_000_000_000_000;
/** Nobody has begun an effect so often. */
export const highestAttempt = 1_000_000_000;

/** A Unix time in milliseconds. */
export function isMoment(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= latestMs;
}

export function isAttemptNumber(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= highestAttempt;
}

/** An attempt has the time that it may ask for at most. */
export function isWithinReach(startedAtMs: number, deadlineAtMs: number): boolean {
  return deadlineAtMs - startedAtMs <= longestEffectMs;
}
