import { OptionError } from '../../errors/index.js';

const defaultMs = 2_000;
const longestMs = 10 * 60_000;

/** How long an attempt to connect may take. @throws {OptionError} unless it is from 1 ms to ten minutes. */
export function checkConnectTimeout(timeoutMs: number = defaultMs): number {
  if (typeof timeoutMs === 'number' && timeoutMs >= 1 && timeoutMs <= longestMs) return timeoutMs;
  const remedy = `use 1 to ${longestMs} milliseconds`;
  throw new OptionError('connectTimeoutMs', timeoutMs, 'is out of range', remedy);
}
