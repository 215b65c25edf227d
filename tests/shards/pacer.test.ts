import { beforeEach, describe, expect, it } from 'vitest';
import { Pacer } from '../../src/shards/pacer.js';
import { sleep } from '../../src/time/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';

describe('the pace of passes', () => {
  let runtime: VirtualRuntime;
  let passes: { readonly atMs: number; readonly names: readonly string[] }[];
  let errors: unknown[];
  let onPass: () => Promise<number>;
  let pacer: Pacer;

  beforeEach(() => {
    runtime = new VirtualRuntime();
    passes = [];
    errors = [];
    onPass = async () => 10_000;
    pacer = new Pacer({
      runtime,
      pass: (names) => {
        passes.push({ atMs: runtime.now().monotonicMs, names });
        return onPass();
      },
      onError: (error) => errors.push(error),
      longestBackoffMs: 4000,
    });
  });

  const times = () => passes.map(({ atMs }) => atMs);

  it('follows what the last pass asked for', async () => {
    await pacer.passNow();
    await runtime.advance(25_000);
    expect(times()).toEqual([0, 10_000, 20_000]);
    await pacer.stop();
    expect(runtime.pendingTimerCount).toBe(0);
  });

  it('follows a single wake at once, and says for which name', async () => {
    await pacer.passNow();
    await runtime.advance(5000);
    pacer.wake('g/shards/7');
    await runtime.advance(0);
    expect(passes.at(-1)).toEqual({ atMs: 5000, names: ['g/shards/7'] });
    await pacer.stop();
  });

  it('makes one more pass of all wakes during a pass, and takes many names for none', async () => {
    await pacer.passNow();
    onPass = async () => {
      await sleep(runtime, 50);
      return 10_000;
    };
    pacer.wake();
    await runtime.advance(10);
    for (let count = 0; count < 100; count++) pacer.wake(`name-${count}`);
    await runtime.advance(1000);
    expect(passes).toHaveLength(3);
    expect(passes.at(-1)?.names).toEqual([]);
    await pacer.stop();
  });

  it('makes no wake during a back-off end it, lets the pauses grow, and forgets them after a success', async () => {
    onPass = async () => {
      throw new Error('store away');
    };
    await pacer.passNow();
    for (let step = 0; step < 4000; step++) {
      pacer.wake();
      await runtime.advance(5);
    }
    const failedCount = passes.length;
    expect(errors).toHaveLength(failedCount);
    expect(failedCount).toBeGreaterThan(5);
    expect(failedCount).toBeLessThan(16);
    const pauses = times().map((atMs, index) => atMs - (times()[index - 1] ?? 0));
    expect(Math.max(...pauses)).toBeLessThanOrEqual(4010);
    onPass = async () => 10_000;
    await runtime.advance(4000);
    onPass = async () => {
      throw new Error('away again');
    };
    const before = passes.length;
    pacer.wake();
    await runtime.advance(110);
    expect(passes.length).toBeGreaterThan(before + 1);
    await pacer.stop();
    expect(runtime.pendingTimerCount).toBe(0);
  });

  it('begins no pass after it was stopped, and waits for the one under way', async () => {
    onPass = async () => {
      await sleep(runtime, 100);
      return 0;
    };
    const passing = pacer.passNow();
    let isStopped = false;
    const stopping = pacer.stop().then(() => {
      isStopped = true;
    });
    await runtime.advance(99);
    expect(isStopped).toBe(false);
    await runtime.advance(1);
    await Promise.all([passing, stopping]);
    pacer.wake();
    await pacer.passNow();
    await runtime.advance(10_000);
    expect(passes).toHaveLength(1);
    expect(runtime.pendingTimerCount).toBe(0);
  });
});
