import { describe, expect, it } from 'vitest';
import { watchLoop } from '../../src/time/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';

describe('the watch of an event loop', () => {
  const watched = () => {
    const runtime = new VirtualRuntime();
    const stallsMs: number[] = [];
    const watch = watchLoop(runtime, (stallMs) => stallsMs.push(stallMs), 100);
    return { runtime, stallsMs, watch };
  };

  it('tells nothing but zeros while the loop turns', async () => {
    const { runtime, stallsMs } = watched();
    await runtime.advance(1_000);
    expect(stallsMs).toEqual(Array(10).fill(0));
  });

  it.each(['freeze', 'suspend'] as const)('tells how long a %s was', async (how) => {
    const { runtime, stallsMs } = watched();
    await runtime.advance(100);
    runtime[how](2_050);
    await runtime.advance(100);
    expect(Math.max(...stallsMs)).toBeGreaterThanOrEqual(1_950);
    expect(Math.max(...stallsMs)).toBeLessThanOrEqual(2_050);
  });

  it('sees nothing after its end', async () => {
    const { runtime, stallsMs, watch } = watched();
    await runtime.advance(200);
    watch.cancel();
    await runtime.advance(1_000);
    expect(stallsMs).toHaveLength(2);
  });
});
