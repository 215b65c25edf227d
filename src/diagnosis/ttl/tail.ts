/**
 * How often durations of a kind come, and how they go on beyond the longest that was seen.
 *
 * Up to a threshold it is what was counted. Beyond it the excess is taken to be exponential: that is where the maxima of
 * most things tend to, and it errs to the hopeful side only for what has no usual size at all, such as the suspend of a
 * laptop, which no short ttl outlasts anyhow.
 */
export interface Tail {
  readonly values: readonly number[];
  readonly thresholdMs: number;
  /** How many lie above the threshold. */
  readonly aboveCount: number;
  /** The mean of what those have above it. */
  readonly excessMs: number;
}

/** This share of the values makes the tail, if there are enough of them. */
const tailShare = 0.1;

export function tailOf(durationsMs: readonly number[]): Tail {
  const values = [...durationsMs].sort((a, b) => a - b);
  const largest = values.at(-1) ?? 0;
  const aboveCount = Math.max(1, Math.floor(values.length * tailShare));
  const thresholdMs = values.length < 2 ? 0 : (values[values.length - aboveCount - 1] ?? 0);
  const excesses = values.slice(-aboveCount).map((value) => value - thresholdMs);
  const mean = excesses.reduce((sum, excess) => sum + excess, 0) / Math.max(1, excesses.length);
  // Of n values of that kind the largest lies at the mean times the harmonic sum of n.
  const byLargest = (largest - thresholdMs) / (Math.log(aboveCount) + 0.5772);
  return { values, thresholdMs, aboveCount, excessMs: Math.max(mean, byLargest) };
}

/**
 * The sum over all values of a function that is 0 up to `fromMs` and rises to 1 over the next `overMs`: how many of them
 * are too long, where it depends on the moment whether one is.
 */
export function tooLong(tail: Tail, fromMs: number, overMs: number): number {
  const { values, thresholdMs, aboveCount, excessMs } = tail;
  if (values.length === 0) return 0;
  const counted = values.reduce((sum, value) => sum + within01((value - fromMs) / overMs), 0);
  if (fromMs < thresholdMs || excessMs <= 0) return counted;
  const reaching = aboveCount * Math.exp(-(fromMs - thresholdMs) / excessMs);
  const expected = reaching * (excessMs / overMs) * (1 - Math.exp(-overMs / excessMs));
  return Math.max(counted, expected);
}

function within01(share: number): number {
  return Math.max(0, Math.min(1, share));
}
