import { describe, expect, it } from 'vitest';
import { kernelTimeOf, later } from '../../../src/cli/supervise/kernel-time.js';
import { stopGroup } from '../../../src/cli/supervise/stop-group.js';
import { VirtualRuntime } from '../../../src/time/virtual.js';
import { FakeGroup } from './fake-group.js';

function setUp() {
  const runtime = new VirtualRuntime();
  const group = new FakeGroup(runtime);
  const inMs = (ms: number) => later(kernelTimeOf(runtime.now()), ms);
  return { runtime, group, inMs };
}

describe('stopping a process group', () => {
  it('does nothing to one that is gone', async () => {
    const { runtime, group, inMs } = setUp();
    group.vanish();
    const result = stopGroup(runtime, group, { killAt: inMs(1_000) });
    expect(await runtime.advanceUntil(result)).toBe('stopped');
    expect(group.told).toEqual([]);
  });

  it('asks it first, and is content when it stops in time', async () => {
    const { runtime, group, inMs } = setUp();
    group.stopsInMs = 500;
    const result = stopGroup(runtime, group, { killAt: inMs(1_000) });
    expect(await runtime.advanceUntil(result)).toBe('stopped');
    expect(group.told).toEqual(['TERM at 0']);
    expect(runtime.now().monotonicMs).toBeLessThan(530);
  });

  it('kills what is left when the time has come, and not before', async () => {
    const { runtime, group, inMs } = setUp();
    const result = stopGroup(runtime, group, { killAt: inMs(1_000) });
    expect(await runtime.advanceUntil(result)).toBe('killed');
    expect(group.told).toEqual(['TERM at 0', 'KILL at 1000']);
  });

  it('kills at once when the time is past, as after a suspend', async () => {
    const { runtime, group, inMs } = setUp();
    const killAt = inMs(1_000);
    const result = stopGroup(runtime, group, { killAt });
    await runtime.settle();
    runtime.suspend(5_000);
    expect(await runtime.advanceUntil(result)).toBe('killed');
    expect(group.told).toEqual(['TERM at 0', 'KILL at 20']);
  });

  it('does not ask twice when somebody else has', async () => {
    const { runtime, group, inMs } = setUp();
    const result = stopGroup(runtime, group, { killAt: inMs(100), terminate: false });
    expect(await runtime.advanceUntil(result)).toBe('killed');
    expect(group.told).toEqual(['KILL at 100']);
  });

  it('kills again and again what begets faster than it dies', async () => {
    const { runtime, group, inMs } = setUp();
    group.diesOfKills = 5;
    const result = stopGroup(runtime, group, { killAt: inMs(0) });
    expect(await runtime.advanceUntil(result)).toBe('killed');
    expect(group.told.filter((line) => line.startsWith('KILL'))).toHaveLength(5);
  });

  it('gives up on what does not die, and says so', async () => {
    const { runtime, group, inMs } = setUp();
    group.diesOfKills = Number.POSITIVE_INFINITY;
    const result = stopGroup(runtime, group, { killAt: inMs(0) });
    expect(await runtime.advanceUntil(result)).toBe('stuck');
    expect(runtime.now().monotonicMs).toBeGreaterThanOrEqual(10_000);
    expect(runtime.now().monotonicMs).toBeLessThan(10_100);
    expect(runtime.pendingTimerCount).toBe(0);
  });
});
