import { describe, expect, it } from 'vitest';
import { kernelTimeOf, later } from '../../../src/cli/supervise/kernel-time.js';
import { Watchdog } from '../../../src/cli/supervise/watchdog.js';
import { VirtualRuntime } from '../../../src/time/virtual.js';
import { FakeGroup } from './fake-group.js';

/** A watchdog that guards a group, which is to be asked at 1000 and killed at 2000. */
function setUp() {
  const runtime = new VirtualRuntime();
  const group = new FakeGroup(runtime);
  const counts = { guarding: 0, ended: 0 };
  const words: string[] = [];
  const watchdog = new Watchdog({
    runtime,
    groupOf: () => group,
    guarding: () => {
      counts.guarding += 1;
    },
    tell: (text) => words.push(text),
    end: () => {
      counts.ended += 1;
    },
  });
  const start = kernelTimeOf(runtime.now());
  const times = (termInMs: number, killInMs: number) => ({
    termAt: later(start, termInMs),
    killAt: later(start, killInMs),
  });
  const guard = () => watchdog.hear({ type: 'guard', group: 4711, ...times(1_000, 2_000) });
  return { runtime, group, counts, words, watchdog, times, guard };
}

describe('the watchdog', () => {
  it('confirms that it guards a group, and does nothing before its time', async () => {
    const { runtime, group, counts, guard } = setUp();
    guard();
    expect(counts.guarding).toBe(1);
    await runtime.advance(999);
    expect(group.told).toEqual([]);
    expect(counts.ended).toBe(0);
  });

  it('asks the group to stop at once when the wrapper is gone, kills it at its time, and ends', async () => {
    const { runtime, group, counts, words, watchdog, guard } = setUp();
    guard();
    await runtime.advance(300);
    watchdog.wrapperGone();
    await runtime.advance(1_690);
    expect(group.told).toEqual(['TERM at 300']);
    expect(counts.ended).toBe(0);
    await runtime.advance(100);
    expect(group.told).toEqual(['TERM at 300', 'KILL at 2000']);
    expect(counts.ended).toBe(1);
    expect(runtime.pendingTimerCount).toBe(0);
    expect(words).toEqual([
      'the wrapper is gone; stopping process group 4711',
      'process group 4711 was killed',
    ]);
  });

  it('ends as soon as the group has stopped by itself', async () => {
    const { runtime, group, counts, watchdog, guard } = setUp();
    group.stopsInMs = 50;
    guard();
    watchdog.wrapperGone();
    await runtime.advance(80);
    expect(counts.ended).toBe(1);
    expect(group.told).toEqual(['TERM at 0']);
  });

  it('does both at the times it was told last when the wrapper is silent', async () => {
    const { runtime, group, counts, watchdog, guard, times } = setUp();
    guard();
    await runtime.advance(900);
    watchdog.hear({ type: 'renewed', ...times(1_500, 2_500) });
    await runtime.advance(10_000);
    expect(group.told).toEqual(['TERM at 1502', 'KILL at 2500']);
    expect(counts.ended).toBe(1);
  });

  it('lives on the renewals of its wrapper for as long as they come', async () => {
    const { runtime, group, watchdog, guard, times } = setUp();
    guard();
    for (let atMs = 500; atMs <= 60_000; atMs += 500) {
      await runtime.advance(500);
      watchdog.hear({ type: 'renewed', ...times(atMs + 1_000, atMs + 2_000) });
    }
    expect(group.told).toEqual([]);
  });

  it('does not ask again when the wrapper has, and kills at the time it was told then', async () => {
    const { runtime, group, counts, watchdog, guard, times } = setUp();
    guard();
    await runtime.advance(500);
    watchdog.hear({ type: 'stopping', killAt: times(0, 1_200).killAt });
    await runtime.advance(10_000);
    expect(group.told).toEqual(['KILL at 1202']);
    expect(counts.ended).toBe(1);
  });

  it('does not ask again either when the wrapper dies after it has asked', async () => {
    const { runtime, group, watchdog, guard, times } = setUp();
    guard();
    watchdog.hear({ type: 'stopping', killAt: times(0, 2_000).killAt });
    watchdog.wrapperGone();
    await runtime.advance(10_000);
    expect(group.told).toEqual(['KILL at 2000']);
  });

  it('forgets a group that is gone, and ends with its wrapper', async () => {
    const { runtime, group, counts, watchdog, guard } = setUp();
    guard();
    watchdog.hear({ type: 'gone' });
    await runtime.advance(10_000);
    expect(counts.ended).toBe(0);
    watchdog.wrapperGone();
    watchdog.wrapperGone();
    expect(counts.ended).toBe(1);
    expect(group.told).toEqual([]);
    expect(runtime.pendingTimerCount).toBe(0);
  });

  it('reads what lies in the pipe before it acts when it was frozen itself', async () => {
    const { runtime, group, watchdog, guard, times } = setUp();
    guard();
    runtime.freeze(5_000);
    // Timers come first, and then the news of a wrapper that was never idle.
    await runtime.advance(1);
    watchdog.hear({ type: 'renewed', ...times(6_000, 7_000) });
    await runtime.advance(500);
    expect(group.told).toEqual([]);
  });

  it('acts soon after a suspend in which the lease has run out, although no timer has noticed', async () => {
    const { runtime, group, guard } = setUp();
    guard();
    await runtime.advance(10);
    runtime.suspend(60_000);
    await runtime.advance(600);
    expect(group.told[0]).toMatch(/^TERM/);
    expect(group.told[1]).toMatch(/^KILL/);
  });

  it('is stopped by nothing once it acts', async () => {
    const { runtime, group, watchdog, guard, times } = setUp();
    guard();
    await runtime.advance(1_500);
    expect(group.told).toHaveLength(1);
    watchdog.hear({ type: 'renewed', ...times(60_000, 61_000) });
    watchdog.hear({ type: 'gone' });
    await runtime.advance(1_000);
    expect(group.told).toEqual(['TERM at 1002', 'KILL at 2000']);
  });
});
