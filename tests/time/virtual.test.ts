import { describe, expect, it } from 'vitest';
import { Backoff, elapsedMs, sleep, wallStepMs } from '../../src/time/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';

describe('virtual time', () => {
  it('fires timers in order of their due time, then of creation, each at its own moment', async () => {
    const runtime = new VirtualRuntime();
    const fired: string[] = [];
    const note = (name: string) => () => fired.push(`${name}@${runtime.now().monotonicMs}`);
    runtime.setTimer(20, note('late'));
    runtime.setTimer(10, note('first'));
    runtime.setTimer(10, note('second'));
    runtime.setTimer(5, note('cancelled')).cancel();
    await runtime.advance(15);
    expect(fired).toEqual(['first@10', 'second@10']);
    await runtime.advance(5);
    expect(fired.at(-1)).toBe('late@20');
    expect(runtime.pendingTimerCount).toBe(0);
  });

  it('fires nothing during a freeze, and everything overdue afterwards', async () => {
    const runtime = new VirtualRuntime();
    const fired: number[] = [];
    runtime.setTimer(10, () => fired.push(runtime.now().monotonicMs));
    runtime.freeze(1_000);
    expect(fired).toEqual([]);
    await runtime.advance(0);
    expect(fired).toEqual([1_000]);
  });

  it('a suspend moves uptime and wall clock, a step the wall clock alone', () => {
    const runtime = new VirtualRuntime();
    const start = runtime.now();
    runtime.suspend(5_000);
    expect(elapsedMs(start, runtime.now())).toBe(5_000);
    expect(wallStepMs(start, runtime.now())).toBe(0);
    runtime.stepWall(-3_600_000);
    expect(elapsedMs(start, runtime.now())).toBe(5_000);
    expect(wallStepMs(start, runtime.now())).toBe(-3_600_000);
  });

  it('draws the same numbers for one seed, others for another', () => {
    const draw = (seed: number) => {
      const runtime = new VirtualRuntime({ seed });
      return [runtime.random(), runtime.random(), runtime.randomHex(8)];
    };
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
    expect(draw(7)[2]).toMatch(/^[0-9a-f]{16}$/);
  });

  it('says so when what a test waits for never happens', async () => {
    const runtime = new VirtualRuntime();
    await expect(runtime.advanceUntil(new Promise(() => undefined), 1_000)).rejects.toThrow(
      'not settled',
    );
  });
});

describe('sleep', () => {
  it('ends at its time or when aborted, and leaves neither timer nor listener', async () => {
    const runtime = new VirtualRuntime();
    const controller = new AbortController();
    const naps = [sleep(runtime, 100), sleep(runtime, 10_000, controller.signal)];
    await runtime.advance(100);
    controller.abort();
    await Promise.all(naps);
    await sleep(runtime, 10_000, controller.signal);
    expect(runtime.pendingTimerCount).toBe(0);
  });
});

describe('back-off', () => {
  it('doubles to its limit, in the upper half of each range, and starts again after a success', () => {
    const runtime = new VirtualRuntime();
    const backoff = new Backoff(runtime, { firstMs: 100, limitMs: 1_000 });
    for (const ceilingMs of [100, 200, 400, 800, 1_000, 1_000]) {
      const pauseMs = backoff.nextMs();
      expect(pauseMs).toBeGreaterThanOrEqual(ceilingMs / 2);
      expect(pauseMs).toBeLessThanOrEqual(ceilingMs);
    }
    backoff.reset();
    expect(backoff.nextMs()).toBeLessThanOrEqual(100);
  });

  it('stays at its limit after a thousand failures', () => {
    const backoff = new Backoff(new VirtualRuntime(), { firstMs: 100, limitMs: 1_000 });
    for (let index = 0; index < 2_000; index++) backoff.nextMs();
    expect(backoff.nextMs()).toBeLessThanOrEqual(1_000);
  });
});
