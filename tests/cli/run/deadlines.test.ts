import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  killAfterMs,
  killTimeAfterLoss,
  stopTimes,
  watchdogTimes,
} from '../../../src/cli/supervise/deadlines.js';
import { earliest, kernelTimeOf, later, leftMs } from '../../../src/cli/supervise/kernel-time.js';
import { resolveTiming } from '../../../src/leases/index.js';
import { latestGiveUpMs } from '../../../src/leases/options.js';

const at = (ms: number) => ({ monotonicMs: ms, uptimeMs: ms + 5_000 });

const timings = fc
  .record({
    ttlMs: fc.integer({ min: 100, max: 86_400_000 }),
    share: fc.double({ min: 0.05, max: 1, noNaN: true }),
  })
  .map(({ ttlMs, share }) => {
    const renewEveryMs = ttlMs / 10;
    const giveUpAfterMs = renewEveryMs + share * (latestGiveUpMs(ttlMs) - renewEveryMs);
    const attemptTimeoutMs = (giveUpAfterMs - renewEveryMs) / 4;
    return resolveTiming({ ttlMs, renewEveryMs, giveUpAfterMs, attemptTimeoutMs });
  });

describe('when a child is stopped', () => {
  it('leaves it the time from 20.0 s to 28.7 s with a ttl of 30 s', () => {
    const timing = resolveTiming({ ttlMs: 30_000 });
    expect(killAfterMs(timing)).toBeCloseTo(28_690);
    const times = stopTimes(at(0), timing.giveUpAfterMs, timing);
    expect(times.termAt).toEqual(at(20_000));
    expect(times.killAt.monotonicMs).toBeCloseTo(28_690);
  });

  it('kills it after the lease was given up and before the store may give the name away, whatever the timing', () => {
    fc.assert(
      fc.property(timings, (timing) => {
        const afterMs = killAfterMs(timing);
        expect(afterMs).toBeGreaterThanOrEqual(timing.giveUpAfterMs);
        const spareMs = latestGiveUpMs(timing.ttlMs) - afterMs;
        expect(spareMs).toBeGreaterThanOrEqual(0);
        // Dying takes time, of which there is some as soon as there is time at all.
        if (latestGiveUpMs(timing.ttlMs) - timing.giveUpAfterMs > 1)
          expect(spareMs).toBeGreaterThan(0);
        expect(spareMs).toBeLessThanOrEqual(1_000.001);
      }),
    );
  });

  it('lets the watchdog step in after the wrapper would have, and before it is too late', () => {
    fc.assert(
      fc.property(timings, (timing) => {
        const times = stopTimes(at(0), timing.giveUpAfterMs, timing);
        const { termAt, killAt } = watchdogTimes(times, timing);
        expect(leftMs(termAt, times.termAt)).toBeGreaterThanOrEqual(0);
        expect(leftMs(killAt, times.killAt)).toBeGreaterThanOrEqual(0);
        expect(leftMs(killAt, termAt)).toBeGreaterThanOrEqual(0);
        expect(killAt.monotonicMs).toBeLessThanOrEqual(latestGiveUpMs(timing.ttlMs) + 1e-3);
      }),
    );
  });

  it('counts from what is left of the lease', () => {
    const timing = resolveTiming({ ttlMs: 30_000 });
    const times = stopTimes(at(100), 5_000, timing);
    expect(times.termAt).toEqual(at(5_100));
    expect(times.killAt.monotonicMs).toBeCloseTo(5_100 + 8_690);
  });

  it.each(['superseded', 'vanished'] as const)(
    'gives no time after a loss because it is %s',
    (reason) => {
      expect(killTimeAfterLoss(reason, at(900), at(100))).toEqual(at(100));
    },
  );

  it.each(['expired', 'unreachable', 'revoked', 'stalled', 'max-hold'] as const)(
    'gives the rest of the lease after a loss because it is %s',
    (reason) => {
      expect(killTimeAfterLoss(reason, at(900), at(100))).toEqual(at(900));
    },
  );
});

describe('time that two processes share', () => {
  it('is that of the kernel', () => {
    const before = Number(process.hrtime.bigint()) / 1e6;
    const told = kernelTimeOf({ monotonicMs: performance.now(), uptimeMs: 7, wallMs: 0 });
    const after = Number(process.hrtime.bigint()) / 1e6;
    expect(told.monotonicMs).toBeGreaterThanOrEqual(before - 0.5);
    expect(told.monotonicMs).toBeLessThanOrEqual(after + 0.5);
    expect(told.uptimeMs).toBe(7);
  });

  it('passes in a suspend, which only one of its clocks notices', () => {
    const until = later(at(0), 1_000);
    expect(leftMs(until, at(400))).toBe(600);
    expect(leftMs(until, { monotonicMs: 400, uptimeMs: 6_200 })).toBe(-200);
    expect(earliest(at(5), at(3))).toEqual(at(3));
    expect(earliest(at(3), at(5))).toEqual(at(3));
  });
});
