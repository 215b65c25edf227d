import { describe, expect, it } from 'vitest';
import { RunTimeoutError } from '../../src/schedule/index.js';
import { sleep } from '../../src/time/index.js';
import {
  act,
  fixture,
  minuteMs,
  type ReplicaOptions,
  stuck,
  ttlMs,
  until,
  untilStopped,
  useScheduleFixture,
} from './fixture.js';

useScheduleFixture();

describe('work that heeds nothing', () => {
  it('keeps neither the others from going on, nor its process from being closed', async () => {
    const { work, letGo } = stuck();
    const a = fixture.started('a', { work });
    await fixture.runtime.advance(1_000);
    const b = fixture.started('b');
    await until('00:01:10');
    a.link.cut();
    await until('00:02:30');
    expect(a.log).toContain('runOverdue 00:01 running');
    expect(await fixture.told()).toEqual(['00:01 succeeded', '00:02 succeeded']);
    expect(b.attempts).toHaveLength(2);
    const startedMs = fixture.runtime.now().monotonicMs;
    await fixture.runtime.advanceUntil(a.schedule.close());
    expect(fixture.runtime.now().monotonicMs - startedMs).toBeLessThan(2 * ttlMs);
    expect(a.log.at(-1)).toMatch(/^stopped WorkOverdueError/);
    letGo();
    await fixture.runtime.advance(1_000);
    expect(b.attempts).toHaveLength(2);
  });

  it('keeps other jobs of its process from nothing, after it took too long', async () => {
    const { work, letGo } = stuck();
    const a = fixture.replica('a', { work, job: { timeoutMs: 10_000 } });
    const ticks: Date[] = [];
    a.schedule.job('other', { cron: '* * * * *' }, ({ tick }) => ticks.push(tick)).start();
    await until('00:04:30');
    expect(a.log).toContain('runOverdue 00:01 running');
    expect(ticks).toHaveLength(4);
    expect(a.attempts).toHaveLength(1);
    letGo();
    await fixture.runtime.advance(1_000);
  });
});

describe('a definition that changed', () => {
  const all = { misfire: 'all' as const };

  it('has no ticks from before it was there', async () => {
    const a = fixture.started('a', { job: { ...all, cron: '0 0 * * *' } });
    await until('00:05:30');
    await fixture.runtime.advanceUntil(a.schedule.close());
    fixture.started('b', { job: all });
    await until('00:07:30');
    expect(await fixture.told()).toEqual(['00:06 succeeded', '00:07 succeeded']);
  });

  it('leaves no tick of the former one behind that its leader did not begin', async () => {
    const a = fixture.started('a', { job: { ...all, cron: '*/4 * * * *' } });
    await until('00:07:50');
    a.crash();
    await until('00:10:10');
    fixture.started('b', { job: { ...all, cron: '*/3 * * * *' } });
    await until('00:12:30');
    expect(await fixture.told()).toEqual(['00:04 succeeded', '00:08 succeeded', '00:12 succeeded']);
  });

  it('is the former one still, once a replica that has it leads again, if nothing was begun in between', async () => {
    const a = fixture.started('a', { job: all });
    await until('00:01:30');
    a.crash();
    const b = fixture.started('b', { job: { ...all, cron: '0 0 * * *' } });
    await until('00:03:30');
    expect(b.log).toEqual(['leading']);
    b.crash();
    fixture.started('c', { job: all });
    await until('00:04:30');
    expect((await fixture.told()).map((line) => line.slice(0, 5))).toEqual([
      '00:01',
      '00:02',
      '00:03',
      '00:04',
    ]);
  });

  it('that nobody here understands keeps no operator from seeing the jobs', async () => {
    fixture.started('a');
    await fixture.runtime.advance(1_000);
    const job = fixture.state.jobs.get('minutely');
    if (job === undefined) throw new Error('there is no job');
    job.record = { ...job.record, cron: 'when the moon is full' };
    const [listing] = await fixture.jobs.list();
    expect(listing).toMatchObject({ cron: 'when the moon is full', nextMs: undefined });
  });

  it('says when it is due next', async () => {
    const a = fixture.started('a', { job: { cron: '0 0 * * *' } });
    await until('00:11:30');
    await fixture.runtime.advanceUntil(a.schedule.close());
    fixture.started('b', { job: { cron: '*/10 * * * *' } });
    await until('00:11:40');
    const [listing] = await fixture.jobs.list();
    expect(new Date(listing?.nextMs ?? 0).toISOString()).toBe('2026-01-01T00:20:00.000Z');
  });
});

describe('a job that is paused', () => {
  it('stays paused under a new leader, which begins what somebody asks for', async () => {
    const a = fixture.started('a');
    await until('00:01:30');
    await fixture.jobs.pause('minutely', act);
    a.crash();
    const b = fixture.started('b');
    await until('00:03:30');
    expect(b.log).toEqual(['leading']);
    await fixture.jobs.runNow('minutely', act);
    await fixture.runtime.advance(2_000);
    expect(b.attempts.map(({ run }) => run.kind)).toEqual(['manual']);
  });
});

describe('more than a thousand late ticks', () => {
  it('run one by one under `all`, beside the other jobs, until somebody pauses them', async () => {
    const ticks: number[] = [];
    const options: ReplicaOptions = {
      job: { misfire: 'all', cron: '* * * * * *', keepRuns: 10_000 },
    };
    const a = fixture.started('a', options);
    await until('00:00:30');
    a.crash();
    await until('00:25:00');
    const b = fixture.replica('b', {
      ...options,
      work: async ({ tick }, runtime) => {
        ticks.push(tick.getTime());
        await sleep(runtime, 20);
      },
    });
    const lateMs: number[] = [];
    b.schedule
      .job('other', { cron: '*/10 * * * * *' }, ({ tick }) =>
        lateMs.push(fixture.runtime.now().wallMs - tick.getTime()),
      )
      .start();
    await until('00:25:31');
    const behind = ticks.length;
    expect(behind).toBeGreaterThan(900);
    expect(lateMs).toHaveLength(3);
    expect(Math.max(...lateMs)).toBeLessThan(50);
    await fixture.jobs.pause('minutely', act);
    await fixture.runtime.advance(5_000);
    expect(ticks.length - behind).toBeLessThanOrEqual(1);
    await fixture.jobs.resume('minutely');
    await until('00:27:00');
    const expected = ticks.map((_, index) => (ticks[0] ?? 0) + index * 1_000);
    expect(ticks).toEqual(expected);
    expect(ticks.length).toBeGreaterThan(1_500);
  }, 30_000);
});

describe('a run that failed', () => {
  it('tells the error by which it took too long', async () => {
    const a = fixture.replica('a', {
      job: { timeoutMs: 10_000, retry: { limit: 1 } },
      work: untilStopped,
    });
    const errors: unknown[] = [];
    a.schedule.events.on('runFailed', ({ error }) => errors.push(error));
    a.schedule.start();
    await until('00:01:11');
    expect(errors[0]).toBeInstanceOf(RunTimeoutError);
  });

  it('can be cancelled while it waits for its next attempt', async () => {
    const a = fixture.started('a', {
      job: { retry: { limit: 1, firstPauseMs: minuteMs } },
      work: () => {
        throw new Error('boom');
      },
    });
    await until('00:01:05');
    const [run] = await fixture.history();
    expect(await fixture.jobs.cancel('minutely', run?.id ?? '', act)).toBe(true);
    await fixture.runtime.advance(1_500);
    expect(await fixture.told()).toEqual(['00:01 cancelled']);
    expect(a.attempts).toHaveLength(1);
  });
});

it('all times of a run are whole milliseconds', async () => {
  const schedule = { pollMs: 333.7 };
  const a = fixture.started('a', { schedule });
  await until('00:01:30');
  await fixture.jobs.runNow('minutely', act);
  await fixture.runtime.advance(2_000);
  a.crash();
  await until('00:04:30');
  await fixture.runtime.advance(0.4);
  fixture.started('b', { schedule });
  await fixture.runtime.advance(2 * ttlMs);
  const runs = await fixture.history();
  expect(runs.map(({ state }) => state)).toContain('skipped');
  for (const run of runs)
    for (const atMs of [run.tickMs, run.beganAtMs, run.endedAtMs ?? 0])
      expect(Number.isInteger(atMs), `${run.id} ${atMs}`).toBe(true);
});
