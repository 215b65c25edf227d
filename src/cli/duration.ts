import { OptionError } from '../errors/index.js';

/** How durations are written on the command line, in the environment and in the config file. */
export const durationForm = 'a number and its unit, such as 500ms, 30s, 2m, 1h or 1d';

const dayMs = 24 * 3_600_000;
const unitsMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: dayMs,
};
const durationPattern = /^(\d{1,15}(?:\.\d{1,6})?)(ms|s|m|h|d)$/;

export interface DurationLimits {
  /** Default 0. */
  readonly smallestMs?: number;
  /** Default 24 h. */
  readonly largestMs?: number;
}

/**
 * Milliseconds from `500ms`, `30s`, `1.5m`, `1h` or `1d` (24 hours). A bare number is refused, since nobody can tell which unit was meant.
 *
 * @param source what the value was written in, named by the error: `--ttl`, `TENURE_TTL`, `tenure.json: ttl`.
 * @throws {OptionError} unless it is a whole number of milliseconds within the limits (both included).
 */
export function parseDuration(
  text: string,
  source: string,
  { smallestMs = 0, largestMs = dayMs }: DurationLimits = {},
): number {
  const [, number, unit] = durationPattern.exec(text) ?? [];
  if (number === undefined || unit === undefined)
    throw new OptionError(source, text, 'is not a duration', `use ${durationForm}`);
  const exactMs = Number(number) * (unitsMs[unit] as number);
  // 0.1 m is 6,000.000000000001 ms in binary fractions; a tenth of a millisecond is meant as one.
  const durationMs = Math.round(exactMs);
  if (Math.abs(exactMs - durationMs) > 1e-6)
    throw new OptionError(source, text, 'is finer than a millisecond', 'use whole milliseconds');
  if (durationMs < smallestMs || durationMs > largestMs) {
    const range = `${writeDuration(smallestMs)} to ${writeDuration(largestMs)}`;
    throw new OptionError(source, text, 'is out of range', `use ${range}`);
  }
  return durationMs;
}

/** The shortest text that {@link parseDuration} reads as exactly these (whole) milliseconds. */
export function writeDuration(durationMs: number): string {
  for (const unit of ['h', 'm', 's']) {
    const unitMs = unitsMs[unit] as number;
    if (durationMs > 0 && durationMs % unitMs === 0) return `${durationMs / unitMs}${unit}`;
  }
  return durationMs === 0 ? '0s' : `${durationMs}ms`;
}

const parts: readonly (readonly [unit: string, unitMs: number])[] = [
  ['d', dayMs],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

/** For people, two units at most: `0.4 s`, `12.0 s`, `3 m 20 s`, `4 h`, `2 d 3 h`. Rounded down. */
export function sayDuration(durationMs: number): string {
  const wholeMs = Math.max(0, Math.floor(durationMs));
  if (wholeMs < 60_000) return `${(Math.floor(wholeMs / 100) / 10).toFixed(1)} s`;
  const first = parts.findIndex(([, unitMs]) => wholeMs >= unitMs);
  let restMs = wholeMs;
  const said: string[] = [];
  for (const [unit, unitMs] of parts.slice(first, first + 2)) {
    const count = Math.floor(restMs / unitMs);
    restMs -= count * unitMs;
    if (count > 0) said.push(`${count} ${unit}`);
  }
  return said.join(' ');
}
