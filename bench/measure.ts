/** Medians, since the machines this runs on are shared: one slow round must not decide. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export interface Comparison {
  readonly ours: number;
  readonly reference: number;
  /** The median of the rounds' own ratios, ours to reference. */
  readonly ratio: number;
}

/** Runs both sides in turn, `rounds` times after a warm-up, and compares them round by round. */
export async function compare(
  rounds: number,
  ours: () => Promise<number>,
  reference: () => Promise<number>,
): Promise<Comparison> {
  await reference();
  await ours();
  const pairs: { ours: number; reference: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    // Alternating who goes first keeps a trend of the machine from favouring one side.
    if (round % 2 === 0) pairs.push({ reference: await reference(), ours: await ours() });
    else pairs.push({ ours: await ours(), reference: await reference() });
  }
  return {
    ours: median(pairs.map((pair) => pair.ours)),
    reference: median(pairs.map((pair) => pair.reference)),
    ratio: median(pairs.map((pair) => pair.ours / pair.reference)),
  };
}

/** Milliseconds that `work` takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return performance.now() - startedAtMs;
}

export function rounded(value: number, digits = 2): string {
  return value.toFixed(digits);
}
