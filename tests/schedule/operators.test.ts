import { describe, expect, it } from 'vitest';
import { Schedule } from '../../src/schedule/index.js';
import { memoryJobs } from '../../src/schedule/memory/index.js';
import { sleep } from '../../src/time/index.js';
import { act, fixture, minuteMs, ttlMs, untilStopped, useScheduleFixture } from './fixture.js';

useScheduleFixture();

describe('an operator', () => {
  it('has a job run beside its schedule, paused or not', async () => {
    const a = fixture.started('a');
    await fixture.runtime.advance(1_000);
    await fixture.jobs.pause('minutely', act);
    const id = await fixture.jobs.runNow('minutely', act);
    await fixture.runtime.advance(2_000);
    expect(a.attempts.map(({ run }) => run)).toEqual([{ id, job: 'minutely', kind: 'manual' }]);
    expect((await fixture.history())[0]).toMatchObject({ id, state: 'succeeded', by: 'operator' });
  });

  it('pauses a job: nothing is begun once that was answered, until it is resumed', async () => {
    const a = fixture.started('a', { job: { misfire: 'skip', lateAfterMs: 5_000 } });
    await fixture.runtime.advance(minuteMs - 10);
    await fixture.jobs.pause('minutely', act);
    await fixture.runtime.advance(2 * minuteMs);
    expect(a.attempts).toEqual([]);
    expect(await fixture.jobs.resume('minutely')).toBe(true);
    await fixture.runtime.advance(minuteMs);
    expect(await fixture.told()).toEqual(['00:01 skipped', '00:03 succeeded']);
  });

  it('is named in the history of the ticks that a pause has cost, whoever led meanwhile', async () => {
    const options = { job: { misfire: 'once' } } as const;
    const a = fixture.started('a', options);
    await fixture.runtime.advance(minuteMs + 1_000);
    await fixture.jobs.pause('minutely', act);
    await fixture.runtime.advance(minuteMs);
    a.crash();
    fixture.started('b', options);
    await fixture.runtime.advance(2 * minuteMs);
    await fixture.jobs.resume('minutely');
    await fixture.runtime.advance(minuteMs);
    const skipped = (await fixture.history()).filter(({ state }) => state === 'skipped');
    expect(skipped.map(({ detail, skippedCount }) => [skippedCount, detail])).toEqual([
      [2, 'the job was paused by operator: test (misfire: once)'],
    ]);
  });

  it('is not named for ticks that nobody began before the pause, or after it', async () => {
    const a = fixture.started('a');
    await fixture.runtime.advance(minuteMs + 1_000);
    a.crash();
    // Three ticks pass by without anybody who leads; then a pause, and a tick in it.
    await fixture.until('00:04:30');
    await fixture.jobs.pause('minutely', act);
    const b = fixture.started('b');
    await fixture.until('00:05:30');
    await fixture.jobs.resume('minutely');
    await fixture.until('00:06:30');
    b.crash();
    await fixture.until('00:10:30');
    fixture.started('c');
    await fixture.until('00:11:30');
    const skipped = (await fixture.history()).filter(({ state }) => state === 'skipped');
    expect(skipped.map(({ detail }) => detail)).toEqual([
      'nobody began them in time, and then the job was paused by operator: test (misfire: once)',
      'nobody began them in time (misfire: once)',
    ]);
  });

  it('withdraws what was asked for: a leader that has seen it in between does not begin it', async () => {
    const options = { job: { keepRuns: 1 }, work: untilStopped };
    const a = fixture.started('a', options);
    await fixture.runtime.advance(minuteMs + 1_000);
    a.crash();
    const ids = [
      await fixture.jobs.runNow('minutely', act),
      await fixture.jobs.runNow('minutely', act),
    ];
    // Busy with the run that was left behind, the next leader knows of the requests from before they were withdrawn.
    const b = fixture.started('b', options);
    await fixture.runtime.advance(10_000);
    const [open] = await fixture.history();
    for (const id of ids) expect(await fixture.jobs.cancel('minutely', id, act)).toBe(true);
    expect((await fixture.history()).map(({ id, state }) => [id, state])).toEqual([
      [open?.id, 'running'],
      ...[...ids].sort().map((id) => [id, 'withdrawn']),
    ]);
    await fixture.jobs.cancel('minutely', open?.id ?? '', act);
    await fixture.runtime.advance(20_000);
    expect(b.attempts.map(({ run }) => run.id)).toEqual([open?.id]);
  });

  it('cancels what stands if no run is named: the open run, else what was asked for', async () => {
    fixture.started('a', { work: untilStopped });
    await fixture.runtime.advance(minuteMs + 1_000);
    expect(await fixture.jobs.cancel('minutely', act)).toBe(true);
    await fixture.runtime.advance(2_000);
    const states = async () => (await fixture.history()).map(({ state }) => state);
    expect(await states()).toEqual(['cancelled']);
    await fixture.replicas[0]?.schedule.close();
    await fixture.jobs.runNow('minutely', act);
    expect(await fixture.jobs.cancel('minutely', act)).toBe(true);
    expect(await states()).toEqual(['cancelled', 'withdrawn']);
    expect(await fixture.jobs.cancel('minutely', act)).toBe(false);
    await expect(fixture.jobs.cancel('hourly', act)).rejects.toThrow('there is no job "hourly"');
  });

  it('cancels a run whose work heeds nothing and ends without an error: it is no success', async () => {
    fixture.started('a', { work: (_, runtime) => sleep(runtime, 20_000) });
    await fixture.runtime.advance(minuteMs + 1_000);
    expect(await fixture.jobs.cancel('minutely', act)).toBe(true);
    await fixture.runtime.advance(20_000);
    const [run] = await fixture.history();
    expect(run).toMatchObject({ state: 'cancelled', by: act.by });
    expect(run?.detail).toMatch(
      /cancelled by operator: test\. .* ended without an error after that/,
    );
  });

  describe('ends a run that its leader has left open', () => {
    /** A deployment that has no job of this name any more. */
    function withoutIt(id: string): Schedule {
      const store = memoryJobs(fixture.state, { runtime: fixture.runtime });
      const schedule = new Schedule(store, { id, runtime: fixture.runtime, ttlMs });
      return schedule.job('renamed', { cron: '* * * * *' }, () => {}).start();
    }

    async function isForgotten(): Promise<void> {
      await expect(fixture.jobs.forget('minutely')).rejects.toThrow('Cancel it');
      expect(await fixture.jobs.cancel('minutely', act)).toBe(true);
      const ended = { state: 'cancelled', by: act.by, detail: act.reason };
      expect(await fixture.history()).toMatchObject([ended]);
    }

    it('which the next one does not define, so that the job can be forgotten', async () => {
      const a = fixture.started('a', { work: untilStopped });
      await fixture.runtime.advance(minuteMs + 1_000);
      await fixture.runtime.advanceUntil(a.schedule.close());
      const b = withoutIt('b');
      await fixture.runtime.advance(ttlMs);
      await isForgotten();
      await fixture.jobs.forget('minutely');
      expect((await fixture.jobs.list()).map(({ job }) => job)).toEqual(['renamed']);
      await fixture.runtime.advanceUntil(b.close());
    });

    it('and nobody leads, and refuses it when it wakes', async () => {
      const a = fixture.started('a', { work: (_, runtime) => sleep(runtime, 2_000) });
      await fixture.runtime.advance(minuteMs + 1_000);
      a.freeze();
      await fixture.runtime.advance(2 * ttlMs);
      await isForgotten();
      const before = await fixture.history();
      a.thaw();
      await fixture.runtime.advance(5_000);
      expect(await fixture.history()).toEqual(before);
    });

    it('but not one that is led: its work is told to stop first', async () => {
      const a = fixture.started('a', { work: untilStopped });
      await fixture.runtime.advance(minuteMs + 1_000);
      expect(await fixture.jobs.cancel('minutely', act)).toBe(true);
      expect(await fixture.told()).toEqual(['00:01 running']);
      await fixture.runtime.advance(2_000);
      expect(a.attempts[0]?.signal.reason).toMatchObject({ code: 'TENURE_RUN_CANCELLED' });
      expect(await fixture.told()).toEqual(['00:01 cancelled']);
    });
  });

  it('sees whether anybody runs a job, and since when it is due', async () => {
    const a = fixture.started('a');
    await fixture.runtime.advance(1_000);
    const [led] = await fixture.jobs.list();
    expect(led).toMatchObject({
      leadership: 'led',
      electedId: 'a',
      overdueMs: 0,
      problem: undefined,
    });
    await fixture.jobs.pause('minutely', act);
    a.crash();
    await fixture.runtime.advance(2 * minuteMs);
    expect(await fixture.jobs.list()).toMatchObject([{ leadership: 'leaderless', overdueMs: 0 }]);
    await fixture.jobs.resume('minutely');
    expect(await fixture.jobs.list()).toMatchObject([
      {
        leadership: 'leaderless',
        electedId: undefined,
        leaderId: 'a',
        overdueMs: minuteMs + 1_000,
      },
    ]);
  });

  it('has a job forgotten, unless a run of it is open', async () => {
    fixture.started('a', { work: untilStopped });
    await fixture.runtime.advance(minuteMs + 1_000);
    const [run] = await fixture.history();
    await expect(fixture.jobs.forget('minutely')).rejects.toMatchObject({
      ...{ code: 'TENURE_JOB_IN_USE', job: 'minutely', run: { id: run?.id } },
    });
    await fixture.jobs.cancel('minutely', act);
    await fixture.replicas[0]?.schedule.close();
    await expect(fixture.jobs.forget('hourly')).rejects.toThrow('there is no job "hourly"');
    await expect(fixture.jobs.forget('minutely')).rejects.toThrow('is waiting. Cancel it');
    fixture.started('b', { work: untilStopped });
    await fixture.runtime.advance(2_000);
    await fixture.jobs.forget('minutely');
    expect(await fixture.jobs.list()).toEqual([]);
    await fixture.runtime.advance(1_000);
    expect(await fixture.jobs.list()).toMatchObject([{ leaderId: 'b', latest: undefined }]);
  });

  it('cancels a run on whatever machine it runs', async () => {
    const a = fixture.started('a', { work: untilStopped });
    await fixture.runtime.advance(minuteMs + 100);
    const [run] = await fixture.history();
    expect(await fixture.jobs.cancel('minutely', run?.id ?? '', act)).toBe(true);
    await fixture.runtime.advance(1_500);
    expect(await fixture.told()).toEqual(['00:01 cancelled']);
    expect(a.attempts[0]?.signal.reason).toMatchObject({ code: 'TENURE_RUN_CANCELLED' });
    expect(await fixture.jobs.cancel('minutely', run?.id ?? '', act)).toBe(false);
  });

  it('is told that there is no such job', async () => {
    await expect(fixture.jobs.runNow('minutely', act)).rejects.toThrow(
      'there is no job "minutely"',
    );
    await expect(fixture.jobs.history('minutely')).rejects.toThrow('there is no job "minutely"');
  });

  it('sees all jobs, and when they are due', async () => {
    fixture.started('a');
    await fixture.runtime.advance(minuteMs + 1_000);
    const [listing] = await fixture.jobs.list();
    expect(listing).toMatchObject({ job: 'minutely', election: 'schedule', leaderId: 'a' });
    expect(new Date(listing?.nextMs ?? 0).toISOString()).toBe('2026-01-01T00:02:00.000Z');
    expect(listing?.latest?.state).toBe('succeeded');
  });
});
