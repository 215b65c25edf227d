import { describe, expect, it } from 'vitest';
import { Bell } from '../../src/cli/bell.js';
import { VirtualRuntime } from '../../src/time/virtual.js';

/** How much hangs on a signal, listeners and whatever else Node keeps there. */
function burdenOf(signal: AbortSignal): number {
  return Object.getOwnPropertySymbols(signal)
    .map((key) => (signal as unknown as Record<symbol, unknown>)[key])
    .map((value) => (value as { size?: unknown } | undefined)?.size)
    .reduce<number>((sum, size) => sum + (typeof size === 'number' ? size : 0), 0);
}

function setUp() {
  const runtime = new VirtualRuntime();
  const stopping = new AbortController();
  const bell = new Bell(runtime);
  const startedMs = runtime.now().monotonicMs;
  const waitedMs = async (durationMs: number) => {
    await runtime.advanceUntil(bell.wait(durationMs, stopping.signal));
    return Math.round(runtime.now().monotonicMs - startedMs);
  };
  return { runtime, stopping, bell, waitedMs };
}

describe('a bell', () => {
  it('ends a pause, also if it rang before that began, and only one', async () => {
    const { bell, waitedMs } = setUp();
    bell.ring();
    expect(await waitedMs(100)).toBe(0);
    expect(await waitedMs(100)).toBe(100);
  });

  it('ends a pause during which it rings, or the signal aborts', async () => {
    const { runtime, bell, stopping, waitedMs } = setUp();
    runtime.setTimer(30, bell.ring);
    expect(await waitedMs(100)).toBe(30);
    runtime.setTimer(30, () => stopping.abort());
    expect(await waitedMs(100)).toBe(60);
    expect(await waitedMs(100)).toBe(60);
  });

  it('leaves nothing on a signal that outlives its pauses', async () => {
    const { stopping, waitedMs } = setUp();
    const before = burdenOf(stopping.signal);
    for (let count = 0; count < 50; count += 1) await waitedMs(1);
    expect(burdenOf(stopping.signal) - before).toBeLessThanOrEqual(1);
  });
});
