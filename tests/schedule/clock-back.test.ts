import { beforeEach, describe, expect, it } from 'vitest';
import type { ScheduleEvents } from '../../src/schedule/index.js';
import {
  act,
  fixture,
  minuteMs,
  type Replica,
  type ReplicaOptions,
  startMs,
  ttlMs,
  useScheduleFixture,
} from './fixture.js';

const yearMs = 366 * 24 * 60 * minuteMs;

useScheduleFixture();
let told: ScheduleEvents['clockWentBack'][];
beforeEach(() => {
  told = [];
});

function started(id: string, options?: ReplicaOptions): Replica {
  const replica = fixture.started(id, options);
  replica.schedule.events.on('clockWentBack', (event) => told.push(event));
  return replica;
}

/** The store's clock, and that of everybody else, jumps by so much. */
const step = (byMs: number) => fixture.runtime.stepWall(byMs);

const begun = ({ attempts }: Replica) => attempts.map(({ tick }) => tick.getTime() - startMs);

function expectNoneTwice(...replicas: Replica[]): void {
  const ids = replicas.flatMap(({ attempts }) => attempts.map(({ run }) => run.id));
  expect(ids).toEqual([...new Set(ids)]);
}

describe('when the clock of the store was ahead and is set right', () => {
  it('ticks are due again from its now on, and that is told', async () => {
    const a = started('a');
    await fixture.runtime.advance(1.5 * minuteMs);
    step(yearMs);
    await fixture.runtime.advance(2 * minuteMs);
    step(-yearMs);
    // It is 00:03:30.
    await fixture.runtime.advance(2 * minuteMs);
    const ahead = [1, 2, 3].map((minute) => yearMs + minute * minuteMs);
    expect(begun(a)).toEqual([minuteMs, ...ahead, 4 * minuteMs, 5 * minuteMs]);
    expect(told).toEqual([{ job: 'minutely', aheadMs: expect.any(Number), isMended: true }]);
    expect(told[0]?.aheadMs).toBeGreaterThan(yearMs - minuteMs);
    expect(await fixture.jobs.list()).toMatchObject([{ leadership: 'led', aheadMs: 0 }]);
  });

  it.each(['all', 'once', 'skip'] as const)(
    'what ran ahead of its time does not run again under `%s`, nor is it told as something else',
    async (misfire) => {
      const a = started('a', { job: { cron: '*/5 * * * * *', misfire, catchUpMs: yearMs } });
      await fixture.runtime.advance(62_000);
      step(30_000);
      await fixture.runtime.advance(10_000);
      const before = await fixture.history();
      step(-30_000);
      await fixture.runtime.advance(90_000);
      expectNoneTwice(a);
      const history = await fixture.history();
      expect(history).toEqual(expect.arrayContaining(before));
      expect(told).toHaveLength(1);
      // On time, all that come after what was considered ahead, and those between that were only skipped.
      const ticks = history
        .filter(({ state }) => state === 'succeeded')
        .map(({ tickMs }) => tickMs);
      const due = Array.from({ length: 12 }, (_, index) => startMs + 105_000 + index * 5_000);
      expect(ticks).toEqual(expect.arrayContaining(due));
    },
  );

  it('what ran ahead of its time stays in the history, though it is among ticks that are late then', async () => {
    const options = { job: { cron: '*/5 * * * * *' } };
    const a = started('a', options);
    await fixture.runtime.advance(62_000);
    step(30_000);
    await fixture.runtime.advance(10_000);
    const before = (await fixture.history()).filter(({ state }) => state === 'succeeded');
    expect(before.at(-1)?.tickMs).toBe(startMs + 100_000);
    step(-30_000);
    await fixture.runtime.advance(15_500);
    // It is 00:01:27.5, and the ticks at 00:01:30, 00:01:35 and 00:01:40 have run.
    a.crash();
    await fixture.runtime.advance(9_000);
    const b = started('b', options);
    await fixture.runtime.advance(30_000);
    expectNoneTwice(a, b);
    expect(await fixture.history()).toEqual(expect.arrayContaining(before));
    expect(b.log).not.toContain('ticksSkipped 1');
  });

  it('so it is for the next leader, and for a job whose definition changed meanwhile', async () => {
    const a = started('a');
    await fixture.runtime.advance(1.5 * minuteMs);
    step(yearMs);
    await fixture.runtime.advanceUntil(a.schedule.close());
    const b = started('b', { job: { cron: '30 * * * * *' } });
    await fixture.runtime.advance(1_000);
    await fixture.runtime.advanceUntil(b.schedule.close());
    step(-yearMs);
    expect(await fixture.jobs.list()).toMatchObject([{ aheadMs: expect.any(Number) }]);
    expect((await fixture.jobs.list())[0]?.aheadMs).toBeGreaterThan(yearMs - minuteMs);
    const c = started('c', { job: { cron: '30 * * * * *' } });
    await fixture.runtime.advance(2 * minuteMs);
    expect(begun(c)).toEqual([2.5 * minuteMs, 3.5 * minuteMs]);
    expect(told).toHaveLength(1);
  });

  it('a retry that was put off by it comes after its pause', async () => {
    const a = started('a', {
      job: { cron: '@yearly', retry: { limit: 1, firstPauseMs: 5_000, longestPauseMs: 5_000 } },
      work: ({ attempt }) => {
        if (attempt === 1) throw new Error('boom');
      },
    });
    await fixture.runtime.advance(1_000);
    step(yearMs);
    await fixture.runtime.advance(2_000);
    await fixture.jobs.runNow('minutely', act);
    await fixture.runtime.advance(1_100);
    step(-yearMs);
    await fixture.runtime.advance(10_000);
    expect(a.attempts.map(({ attempt }) => attempt).slice(0, 2)).toEqual([1, 2]);
  });

  it('by little, time is waited for, and nothing is told', async () => {
    const a = started('a');
    await fixture.runtime.advance(minuteMs + 1_000);
    step(-5_000);
    await fixture.runtime.advance(2 * minuteMs);
    expect(begun(a)).toEqual([1, 2].map((minute) => minute * minuteMs));
    expect(told).toEqual([]);
  });

  it('with too few runs kept to tell which have run, none begins before the clock has caught up, and that is told once', async () => {
    const a = started('a', { job: { misfire: 'all', keepRuns: 2 } });
    await fixture.runtime.advance(minuteMs / 2);
    step(10 * minuteMs);
    await fixture.runtime.advance(minuteMs);
    const count = a.attempts.length;
    expect(count).toBe(11);
    step(-10 * minuteMs);
    await fixture.runtime.advance(5 * minuteMs);
    expect(a.attempts).toHaveLength(count);
    expect(told).toMatchObject([{ isMended: false }]);
    const [listing] = await fixture.jobs.list();
    expect(listing?.aheadMs).toBeGreaterThan(3 * minuteMs);
    expect(listing?.nextMs).toBe(startMs + 12 * minuteMs);
    await fixture.runtime.advance(8 * minuteMs);
    expectNoneTwice(a);
    expect(begun(a).slice(count)).toEqual([12, 13, 14].map((minute) => minute * minuteMs));
  });

  it('with too few runs kept, the job goes on once it was forgotten', async () => {
    const a = started('a', { job: { misfire: 'all', keepRuns: 2 } });
    await fixture.runtime.advance(minuteMs / 2);
    step(10 * minuteMs);
    await fixture.runtime.advance(minuteMs);
    step(-10 * minuteMs);
    await fixture.runtime.advance(minuteMs);
    const count = a.attempts.length;
    await fixture.jobs.forget('minutely');
    await fixture.runtime.advance(2 * minuteMs);
    expect(begun(a).slice(count)).toEqual([3 * minuteMs, 4 * minuteMs]);
  });
});

describe('when the clock of the store was behind and is set right', () => {
  it.each(['all', 'once', 'skip'] as const)(
    'nothing of the time between is made up for, or told, under `%s`',
    async (misfire) => {
      const a = started('a', { job: { misfire, catchUpMs: yearMs } });
      await fixture.runtime.advance(3.5 * minuteMs);
      step(-yearMs);
      await fixture.runtime.advance(2 * minuteMs);
      step(yearMs);
      // It is 00:05:30, and the ticks since 00:03 are late.
      await fixture.runtime.advance(2 * minuteMs);
      expectNoneTwice(a);
      const since = begun(a).filter((tickMs) => tickMs > 3 * minuteMs);
      expect(since.slice(-2)).toEqual([6 * minuteMs, 7 * minuteMs]);
      expect(since.every((tickMs) => tickMs >= 4 * minuteMs)).toBe(true);
      const skipped = (await fixture.history()).filter(({ state }) => state === 'skipped');
      for (const { skippedCount = 1 } of skipped) expect(skippedCount).toBeLessThanOrEqual(2);
    },
  );

  it('so it is for the next leader', async () => {
    const a = started('a', { job: { misfire: 'all', catchUpMs: yearMs } });
    await fixture.runtime.advance(3.5 * minuteMs);
    step(-60 * minuteMs);
    await fixture.runtime.advance(minuteMs);
    expect(told).toMatchObject([{ isMended: true }]);
    a.crash();
    step(60 * minuteMs);
    const b = started('b', { job: { misfire: 'all', catchUpMs: yearMs } });
    await fixture.runtime.advance(3 * ttlMs + minuteMs);
    expectNoneTwice(a, b);
    expect(begun(b).every((tickMs) => tickMs > 3 * minuteMs)).toBe(true);
    expect(begun(b).length).toBeGreaterThan(0);
  });
});
