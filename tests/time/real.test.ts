import { uptime } from 'node:os';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { realRuntime } from '../../src/time/index.js';

afterEach(() => vi.useRealTimers());

describe('the real runtime', () => {
  it('reads the clocks of this machine', () => {
    const now = realRuntime.now();
    expect(Math.abs(now.wallMs - Date.now())).toBeLessThan(1_000);
    expect(Math.abs(now.uptimeMs - uptime() * 1000)).toBeLessThan(1_000);
    expect(realRuntime.now().monotonicMs).toBeGreaterThanOrEqual(now.monotonicMs);
  });

  it('waits longer than 2^31 - 1 ms where Node would fire after one', () => {
    vi.useFakeTimers();
    const delayMs = 2 ** 31 + 5_000;
    let fired = false;
    realRuntime.setTimer(delayMs, () => {
      fired = true;
    });
    vi.advanceTimersByTime(delayMs - 1);
    expect(fired).toBe(false);
    vi.advanceTimersByTime(1);
    expect(fired).toBe(true);
  });

  it('cancels a timer, also one that was armed again', () => {
    vi.useFakeTimers();
    let fired = false;
    const timer = realRuntime.setTimer(2 ** 31 + 5_000, () => {
      fired = true;
    });
    vi.advanceTimersByTime(2 ** 31);
    timer.cancel();
    timer.cancel();
    vi.advanceTimersByTime(2 ** 31);
    expect(fired).toBe(false);
  });

  it('draws unpredictable hexadecimal text of the wanted length', () => {
    expect(realRuntime.randomHex(16)).toMatch(/^[0-9a-f]{32}$/);
    expect(realRuntime.randomHex(16)).not.toBe(realRuntime.randomHex(16));
  });
});
