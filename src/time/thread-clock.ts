import { realRuntime } from './real.js';
import type { Runtime } from './runtime.js';

/**
 * Where this thread's `monotonicMs` counts from, in milliseconds of the clock that all threads of a process share
 * (`process.hrtime`).
 *
 * `performance.now()` may count from another moment in each thread, and the difference of two `performance.timeOrigin`
 * is no measure of it: those are readings of the wall clock, which may have been stepped in between. Of a few tries the
 * one that was interrupted least counts; it is right to some microseconds.
 */
export function clockOriginMs(): number {
  let originMs = 0;
  let shortestNs = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 5; tries++) {
    const beforeNs = process.hrtime.bigint();
    const monotonicMs = realRuntime.now().monotonicMs;
    const tookNs = Number(process.hrtime.bigint() - beforeNs);
    if (tookNs >= shortestNs) continue;
    shortestNs = tookNs;
    originMs = (Number(beforeNs) + tookNs / 2) / 1e6 - monotonicMs;
  }
  return originMs;
}

/** The real runtime of this thread, whose instants can be compared with those of the thread with that clock origin. */
export function runtimeWithOrigin(originMs: number): Runtime {
  const aheadMs = clockOriginMs() - originMs;
  return {
    ...realRuntime,
    now() {
      const instant = realRuntime.now();
      return { ...instant, monotonicMs: instant.monotonicMs + aheadMs };
    },
  };
}
