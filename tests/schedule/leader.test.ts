import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  RecordCorruptError,
  StoreMisconfiguredError,
  UnreachableError,
} from '../../src/errors/index.js';
import { RunTimeoutError, Schedule } from '../../src/schedule/index.js';
import { sleep } from '../../src/time/index.js';
import { altered } from '../support/altered.js';
import {
  act,
  clock,
  minuteMs,
  type Replica,
  type ReplicaOptions,
  ScheduleFixture,
  startMs,
  ttlMs,
  untilStopped,
} from './fixture.js';

let fixture: ScheduleFixture;
beforeEach(() => {
  fixture = new ScheduleFixture();
});
afterEach(async () => {
  await fixture.close();
  expect(fixture.runtime.pendingTimerCount).toBe(0);
});

/** Work that heeds nothing until it is let go. */
function stuck(): { readonly work: () => Promise<void>; readonly letGo: () => void } {
  let letGo = () => {};
  const gone = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  return { work: () => gone, letGo };
}

async function until(time: string): Promise<void> {
  const toMs = Date.parse(`2026-01-01T${time}Z`);
  await fixture.runtime.advance(toMs - fixture.runtime.now().wallMs);
}

/** It stops between asking whether it may begin, which the store does, and hearing so. */
async function frozenBeforeItHears(replica: Replica): Promise<void> {
  await until('00:00:59');
  replica.link.disturb('reply', 'hold', { operation: 'write' });
  await until('00:01:00.100');
  replica.freeze();
}

describe('the work of a run is not begun', () => {
  it('by a process that hears that it may when its term is over', async () => {
    const a = fixture.started('a');
    await fixture.runtime.advance(1_000);
    const b = fixture.started('b');
    await frozenBeforeItHears(a);
    await fixture.runtime.advance(3 * ttlMs);
    a.link.heal();
    expect(a.link.flush()).toBeGreaterThan(0);
    await fixture.runtime.settle();
    expect(a.attempts).toEqual([]);
    expect(b.log).toContain('runBegan 00:01 attempt 2');
    expect(await fixture.told()).toEqual(['00:01 succeeded']);
  });

  it('by a process that was told to stop meanwhile: the next one does, and that is no interruption', async () => {
    const a = fixture.started('a');
    await until('00:00:59');
    a.link.disturb('reply', 'hold', { operation: 'write', count: 1 });
    await until('00:01:00.100');
    const closing = a.schedule.close();
    a.link.flush();
    await fixture.runtime.advanceUntil(closing);
    expect(a.attempts).toEqual([]);
    expect(await fixture.history()).toMatchObject([{ state: 'waiting', interruptionCount: 0 }]);
    fixture.started('b');
    await fixture.runtime.advance(ttlMs);
    expect(await fixture.history()).toMatchObject([{ state: 'succeeded', interruptionCount: 0 }]);
  });
});

describe('a run whose begin got no answer', () => {
  it('is begun once, by whoever began it', async () => {
    const a = fixture.started('a');
    await until('00:00:59');
    a.link.disturb('reply', 'drop', { operation: 'write', count: 1 });
    await until('00:01:59');
    expect(a.attempts.map(({ attempt }) => attempt)).toEqual([1]);
    expect(await fixture.told()).toEqual(['00:01 succeeded']);
  });

  it('does not keep ticks that were skipped with it from being told', async () => {
    const a = fixture.started('a');
    await until('00:01:30');
    a.crash();
    await until('00:04:30');
    const b = fixture.replica('b');
    b.link.disturb('reply', 'drop', { operation: 'write', count: 1 });
    b.schedule.start();
    await fixture.runtime.advance(2 * ttlMs);
    expect(b.log.filter((line) => line.startsWith('ticksSkipped'))).toEqual(['ticksSkipped 2']);
    expect(b.attempts).toHaveLength(1);
  });
});

it('a leader of many jobs claims them a few at a time', async () => {
  const a = fixture.replica('a');
  const counts: number[] = [];
  const store = altered(a.store, {
    claim: async (token, definitions, adoptFrom, call) => {
      counts.push(definitions.length);
      return await a.store.claim(token, definitions, adoptFrom, call);
    },
  });
  const schedule = new Schedule(store, { id: 'a', runtime: a.runtime, ttlMs });
  const led: number[] = [];
  schedule.events.on('leading', ({ jobs }) => led.push(jobs.length));
  for (let number = 1; number <= 120; number++)
    schedule.job(`job-${number}`, { cron: '@daily' }, () => {});
  schedule.start();
  await fixture.runtime.advance(1_000);
  expect(counts).toEqual([50, 50, 20]);
  expect(led).toEqual([120]);
  await fixture.runtime.advanceUntil(schedule.close());
});

describe('a leader that cannot claim its jobs, though its lease is renewed', () => {
  it('gives up after a ttl, so that another replica leads', async () => {
    const a = fixture.started('a');
    const failures: unknown[] = [];
    a.schedule.events.on('leadershipFailed', ({ error }) => failures.push(error));
    a.link.disturb('request', 'drop', { operation: 'claim' });
    await fixture.runtime.advance(1_000);
    const b = fixture.started('b');
    await fixture.runtime.advance(ttlMs / 2);
    expect([a.log, b.log, failures]).toEqual([[], [], []]);
    await fixture.runtime.advance(2 * ttlMs);
    expect(failures).toEqual([expect.objectContaining({ code: 'TENURE_OUTCOME_UNKNOWN' })]);
    expect([a.log, b.log]).toEqual([[], ['leading']]);
  });

  it('has a third of the ttl for each claim, which is for many jobs', async () => {
    const a = fixture.replica('a');
    const limits: number[] = [];
    const store = altered(a.store, {
      claim: async (token, definitions, adoptFrom, call) => {
        limits.push(call.timeoutMs);
        return await a.store.claim(token, definitions, adoptFrom, call);
      },
    });
    const schedule = new Schedule(store, { id: 'a', runtime: a.runtime, ttlMs });
    schedule.job('daily', { cron: '@daily' }, () => {}).start();
    await fixture.runtime.advance(1_000);
    expect(limits).toEqual([ttlMs / 3]);
    await fixture.runtime.advanceUntil(schedule.close());
  });

  it('closes with the claim that is under way, or without one', async () => {
    const a = fixture.started('a');
    a.link.disturb('request', 'drop', { operation: 'claim' });
    await fixture.runtime.advance(1_000);
    const beganMs = fixture.runtime.now().monotonicMs;
    await fixture.runtime.advanceUntil(a.schedule.close());
    expect(fixture.runtime.now().monotonicMs - beganMs).toBeLessThanOrEqual(ttlMs / 3);
    expect(a.log).toEqual([]);
  });
});

describe('a leader that is closed while the store gives no answer to its writes', () => {
  /** How long its close takes, and what it told. */
  async function closed(a: Replica): Promise<number> {
    const beganMs = fixture.runtime.now().monotonicMs;
    await fixture.runtime.advanceUntil(a.schedule.close());
    return fixture.runtime.now().monotonicMs - beganMs;
  }

  it('closes at once if its run was certainly not begun; the next one begins it, and that is no interruption', async () => {
    const a = fixture.replica('a');
    let isAway = true;
    const store = altered(a.store, {
      write: async (token, change, call) => {
        if (isAway) throw new UnreachableError('no connection was free in time');
        return await a.store.write(token, change, call);
      },
    });
    const schedule = new Schedule(store, { id: 'a', runtime: a.runtime, ttlMs });
    schedule.job('minutely', { cron: '* * * * *' }, () => {}).start();
    await until('00:01:00.100');
    expect(await closed({ ...a, schedule })).toBe(0);
    isAway = false;
    fixture.started('b');
    await fixture.runtime.advance(ttlMs);
    expect(await fixture.history()).toMatchObject([{ state: 'succeeded', attempt: 1 }]);
  });

  it.each([
    ['a begin', 'drop', '00:00:59', []],
    ['an end', 'drop', '00:01:00.500', ['runBegan 00:01 attempt 1']],
  ] as const)('gives %s up long before its ttl is over', async (_, fault, time, log) => {
    const a = fixture.started('a', { work: (_context, runtime) => sleep(runtime, 1_000) });
    await until(time);
    a.link.disturb('reply', fault, { operation: 'write' });
    await until('00:01:01.200');
    expect(await closed(a)).toBeLessThanOrEqual((ttlMs * 2) / 3);
    expect(a.log).toEqual(['leading', ...log, 'stoppedLeading']);
  });

  it('has the end written by a store that answers in time again', async () => {
    const a = fixture.started('a', { work: (_context, runtime) => sleep(runtime, 1_000) });
    await until('00:01:00.500');
    a.link.disturb('request', 'drop', { operation: 'write', count: 1 });
    await until('00:01:01.200');
    expect(await closed(a)).toBeGreaterThan(0);
    expect(await fixture.told()).toEqual(['00:01 succeeded']);
  });

  it('tells work that saves its progress what became of that', async () => {
    let told: unknown;
    const a = fixture.started('a', {
      work: async ({ progress }, runtime) => {
        await sleep(runtime, 1_000);
        told = await progress.save(1).catch((error: unknown) => error);
        throw told;
      },
    });
    await until('00:01:00.500');
    a.link.disturb('reply', 'drop', { operation: 'write' });
    await until('00:01:01.200');
    await closed(a);
    expect(told).toMatchObject({ code: 'TENURE_OUTCOME_UNKNOWN' });
  });
});

describe('what befalls one job alone', () => {
  /** Two jobs, and a store in which one of them may be unreadable. */
  function withTwo() {
    const a = fixture.replica('a');
    const log: string[] = [];
    const error = new RecordCorruptError('a run cannot be read');
    const broken = { isBroken: false };
    const store = altered(a.store, {
      claim: async (token, definitions, adoptFrom, call) => {
        const read = definitions.filter(({ job }) => !broken.isBroken || job !== 'other');
        const results = await a.store.claim(token, read, adoptFrom, call);
        return definitions.map((definition) => {
          const at = read.indexOf(definition);
          return results[at] ?? { outcome: 'corrupt', error };
        });
      },
      look: async (jobs, call) => {
        const view = await a.store.look(jobs, call);
        if (!broken.isBroken) return view;
        const left = view.jobs.filter(({ record }) => record.job !== 'other');
        return { ...view, jobs: left, corrupt: [{ job: 'other', error }] };
      },
      write: async (token, change, call) => {
        if (broken.isBroken && change.job === 'other') throw error;
        return await a.store.write(token, change, call);
      },
    });
    // It looks at 00:00:56 and 00:01:03, at 00:01:59 and 00:02:06.
    const timing = { ttlMs, pollMs: 7_000 };
    const schedule = new Schedule(store, { id: 'a', runtime: a.runtime, ...timing });
    for (const job of ['minutely', 'other'])
      schedule.job(job, { cron: '* * * * *' }, ({ tick }) => {
        log.push(`${job} ${clock(tick.getTime())}`);
      });
    for (const event of ['leading', 'stoppedLeading'] as const)
      schedule.events.on(event, () => log.push(event));
    for (const event of ['jobCorrupt', 'jobForgotten'] as const)
      schedule.events.on(event, ({ job }) => log.push(`${event} ${job}`));
    return { schedule, broken, log };
  }

  it.each([
    ['from the start', '00:00:00', ['jobCorrupt other', 'leading']],
    ['while it has nothing to do', '00:00:30', ['leading', 'jobCorrupt other']],
    ['in the moment in which it is due', '00:00:59.900', ['leading', 'jobCorrupt other']],
  ])('keeps nobody from the others, if it cannot be read %s', async (_, time, begun) => {
    const { schedule, broken, log } = withTwo();
    if (time === '00:00:00') broken.isBroken = true;
    schedule.start();
    await until(time === '00:00:00' ? '00:00:01' : time);
    broken.isBroken = true;
    await until('00:02:30');
    expect(log.filter((line) => !line.startsWith('minutely'))).toEqual(begun);
    expect(log.filter((line) => line.startsWith('minutely'))).toEqual([
      'minutely 00:01',
      'minutely 00:02',
    ]);
    broken.isBroken = false;
    await until('00:03:30');
    expect(log).toContain('other 00:03');
    expect(log).not.toContain('stoppedLeading');
    await fixture.runtime.advanceUntil(schedule.close());
  });

  it.each([
    ['while it has nothing to do', '00:01:30', ['00:03']],
    ['in the moment in which it is due', '00:01:59.999', ['00:03']],
  ])('is that somebody has it forgotten %s: it is made anew', async (_, time, ticks) => {
    const { schedule, log } = withTwo();
    schedule.start();
    await until('00:01:30');
    const made = () => fixture.state.jobs.get('other');
    const { record } = made() ?? {};
    await until(time);
    expect(await fixture.operator.forget('other', record, { timeoutMs: 1_000 })).toEqual({
      outcome: 'forgotten',
    });
    if (time < '00:01:59') await until('00:01:59');
    else await until('00:02:30');
    expect(made()?.record).toMatchObject({ term: record?.term });
    await until('00:03:30');
    expect(log.filter((line) => line.startsWith('minutely'))).toHaveLength(3);
    expect(log.filter((line) => line.startsWith('other')).slice(-1)).toEqual(
      ticks.map((tick) => `other ${tick}`),
    );
    expect(log).toContain('jobForgotten other');
    expect(log).not.toContain('stoppedLeading');
    await fixture.runtime.advanceUntil(schedule.close());
  });

  it('is that a predecessor that woke late has made it anew: it is claimed again', async () => {
    const { schedule, log } = withTwo();
    schedule.start();
    await until('00:01:30');
    const row = fixture.state.jobs.get('other');
    if (row === undefined) throw new Error('there is no job');
    const { term } = row.record;
    row.record = { ...row.record, term: term - 1, holderDigest: 'of another one' };
    await until('00:02:30');
    expect(row.record.term).toBe(term);
    expect(log).toContain('other 00:02');
    expect(log).not.toContain('stoppedLeading');
    await fixture.runtime.advanceUntil(schedule.close());
  });
});

describe('what ends a leader', () => {
  it('ends all its works at once, if it is a successor in the row of any of its jobs', async () => {
    const a = fixture.replica('a');
    const signals: AbortSignal[] = [];
    a.schedule.job('long', { cron: '* * * * *' }, (context) => {
      signals.push(context.signal);
      return untilStopped(context);
    });
    a.schedule.start();
    await until('00:01:30');
    const row = fixture.state.jobs.get('minutely');
    if (row === undefined) throw new Error('there is no job');
    row.record = { ...row.record, term: row.record.term + 1_000_000 };
    await until('00:02:00.100');
    expect(signals[0]?.reason).toMatchObject({ reason: 'superseded' });
  });

  it('is told, and asks its works to stop; one that does not keeps the jobs from others for a ttl at most', async () => {
    const { work, letGo } = stuck();
    const a = fixture.replica('a');
    const store = altered(a.store, {
      write: async (token, change, call) => {
        if (change.job === 'other' && fixture.runtime.now().wallMs >= startMs + 2 * minuteMs)
          throw new StoreMisconfiguredError('there are no tables');
        return await a.store.write(token, change, call);
      },
    });
    const schedule = new Schedule(store, { id: 'a', runtime: a.runtime, ttlMs });
    const told: unknown[] = [];
    let stopping: AbortSignal | undefined;
    schedule.events.on('leadershipFailed', ({ error }) => told.push(error));
    schedule
      .job('minutely', { cron: '* * * * *' }, (context) => {
        stopping = context.stopping;
        return work();
      })
      .job('other', { cron: '* * * * *' }, () => {})
      .start();
    await fixture.runtime.advance(1_000);
    const b = fixture.started('b');
    await until('00:02:00.100');
    expect(told).toMatchObject([{ code: 'TENURE_STORE_MISCONFIGURED' }]);
    expect(stopping?.aborted).toBe(true);
    expect(b.log).toEqual([]);
    await fixture.runtime.advance(2.5 * ttlMs);
    expect(b.log).toContain('leading');
    letGo();
    await fixture.runtime.advanceUntil(schedule.close());
  });
});

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
