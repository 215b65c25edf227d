import { describe, expect, it } from 'vitest';
import {
  RecordCorruptError,
  StoreMisconfiguredError,
  UnreachableError,
} from '../../src/errors/index.js';
import { Schedule } from '../../src/schedule/index.js';
import { sleep } from '../../src/time/index.js';
import { altered } from '../support/altered.js';
import {
  clock,
  fixture,
  minuteMs,
  type Replica,
  startMs,
  stuck,
  ttlMs,
  until,
  untilStopped,
  useScheduleFixture,
} from './fixture.js';

useScheduleFixture();

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
