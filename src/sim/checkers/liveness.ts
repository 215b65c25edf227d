import type { Checker } from './checker.js';

/** Once the faults are over, work goes on within so many ttl. */
const boundInTtl = 4;
/** And within this, which pauses after failures may take besides, in milliseconds. */
const pauseMs = 10_000;

/** Once the faults are over, what the scenario does goes on within a bound, and is still going on at the end. */
export function livenessChecker(): Checker {
  let firstAtMs: number | undefined;
  let lastAtMs = Number.NEGATIVE_INFINITY;
  return {
    name: 'liveness',
    attach({ witness, nowMs, healedAtMs }) {
      witness.on('progress', () => {
        lastAtMs = nowMs();
        if (lastAtMs >= healedAtMs) firstAtMs ??= lastAtMs;
      });
    },
    atEnd(bench) {
      const { healedAtMs, ttlMs } = bench;
      const boundMs = boundInTtl * ttlMs + pauseMs;
      if (firstAtMs === undefined)
        bench.violated('nothing was done any more after the faults were over');
      else if (firstAtMs - healedAtMs > boundMs)
        bench.violated(
          `nothing was done for ${(firstAtMs - healedAtMs).toFixed(0)} ms after the faults were over; ${boundMs} ms is the bound`,
        );
    },
  };
}
