import { describe, expect, it, vi } from 'vitest';
import { StoreMisconfiguredError } from '../../src/errors/index.js';
import { sleep } from '../../src/time/index.js';
import {
  fixture,
  minuteMs,
  type ReplicaOptions,
  ttlMs,
  untilStopped,
  useScheduleFixture,
} from './fixture.js';

useScheduleFixture();

describe('a schedule', () => {
  it('runs a job once per tick in the whole fleet, at its time', async () => {
    const began: number[] = [];
    const work = () => void began.push(fixture.runtime.now().wallMs);
    const replicas = ['a', 'b', 'c'].map((id) => fixture.started(id, { work }));
    await fixture.runtime.advance(5.5 * minuteMs);
    expect(await fixture.told()).toEqual([
      '00:01 succeeded',
      '00:02 succeeded',
      '00:03 succeeded',
      '00:04 succeeded',
      '00:05 succeeded',
    ]);
    expect(replicas.map(({ attempts }) => attempts.length).sort()).toEqual([0, 0, 5]);
    for (const [index, atMs] of began.entries()) {
      const lateMs = atMs - Date.UTC(2026, 0, 1, 0, index + 1);
      expect(lateMs).toBeGreaterThanOrEqual(0);
      expect(lateMs).toBeLessThan(50);
    }
  });

  it('gives the work the id of its run, the lease it runs under, the tick and the number of the attempt', async () => {
    const a = fixture.started('a');
    await fixture.runtime.advance(minuteMs + 100);
    const [context] = a.attempts;
    expect(context?.run).toEqual({
      id: 'minutely@2026-01-01T00:01:00.000Z',
      job: 'minutely',
      kind: 'tick',
    });
    expect(context?.tick.toISOString()).toBe('2026-01-01T00:01:00.000Z');
    expect(context?.attempt).toBe(1);
    expect(context?.lease.name).toBe('schedule');
    const [run] = await fixture.history();
    expect(run).toMatchObject({ term: context?.lease.term, holderId: 'a', attempt: 1 });
  });

  it('writes the run before its work begins', async () => {
    const stored: unknown[] = [];
    fixture.started('a', {
      work: async () => {
        stored.push((await fixture.history()).at(-1)?.state);
      },
    });
    await fixture.runtime.advance(minuteMs + 500);
    expect(stored).toEqual(['running']);
  });

  it('runs the tick in the middle of which a leader dies under its successor, and once', async () => {
    const a = fixture.started('a', { work: untilStopped });
    await fixture.runtime.advance(1_000);
    const b = fixture.started('b');
    await fixture.runtime.advance(minuteMs);
    expect(a.log).toContain('runBegan 00:01 attempt 1');
    a.crash();
    await fixture.runtime.advance(2 * ttlMs);
    expect(b.log).toContain('runBegan 00:01 attempt 2');
    expect(await fixture.told()).toEqual(['00:01 succeeded']);
    expect((await fixture.history())[0]).toMatchObject({ interruptionCount: 1, holderId: 'b' });
  });

  it('keeps what a frozen leader wakes up to write from counting', async () => {
    let finish = () => {};
    const a = fixture.started('a', {
      work: () => new Promise<void>((resolve) => (finish = resolve)),
    });
    await fixture.runtime.advance(1_000);
    const b = fixture.started('b');
    await fixture.runtime.advance(minuteMs);
    a.freeze();
    await fixture.runtime.advance(3 * ttlMs);
    const before = await fixture.history();
    a.thaw();
    finish();
    await fixture.runtime.advance(1_000);
    expect(await fixture.history()).toEqual(before);
    expect(before[0]).toMatchObject({ state: 'succeeded', holderId: 'b', attempt: 2 });
    expect(a.log.filter((line) => line.startsWith('runEnded'))).toEqual([]);
    expect(b.log).toContain('runEnded 00:01 succeeded');
  });

  it('goes by the clock of the store: replicas whose clocks differ by two seconds run each tick once', async () => {
    const a = fixture.started('a');
    await fixture.runtime.advance(30_000);
    const b = fixture.started('b');
    await fixture.runtime.advance(minuteMs);
    await fixture.runtime.advanceUntil(a.schedule.close());
    fixture.runtime.stepWall(-2_000);
    await fixture.runtime.advance(2 * minuteMs);
    expect(await fixture.told()).toEqual(['00:01 succeeded', '00:02 succeeded', '00:03 succeeded']);
    expect(b.attempts).toHaveLength(2);
  });

  it('has one run of a job at a time: a tick that comes due meanwhile waits', async () => {
    let active = 0;
    let mostActive = 0;
    fixture.started('a', {
      job: { misfire: 'all' },
      work: async (_context, runtime) => {
        active += 1;
        mostActive = Math.max(mostActive, active);
        await sleep(runtime, 1.5 * minuteMs);
        active -= 1;
      },
    });
    await fixture.runtime.advance(7 * minuteMs);
    expect(mostActive).toBe(1);
    expect((await fixture.told()).slice(0, 3)).toEqual([
      '00:01 succeeded',
      '00:02 succeeded',
      '00:03 succeeded',
    ]);
  });

  it('resumes a run from the progress that its first process saved', async () => {
    const steps: string[] = [];
    const work: ReplicaOptions['work'] = async ({ progress, lease }, runtime) => {
      for (let step = progress.load<number>() ?? 0; step < 10; step++) {
        steps.push(`${lease.holder.id}${step}`);
        await progress.save(step + 1);
        await sleep(runtime, 1_000);
      }
    };
    const a = fixture.started('a', { work });
    await fixture.runtime.advance(1_000);
    fixture.started('b', { work });
    await fixture.runtime.advance(minuteMs + 3_500);
    a.crash();
    await fixture.runtime.advance(3 * ttlMs);
    expect(steps).toEqual(['a0', 'a1', 'a2', 'a3', 'a4', 'b5', 'b6', 'b7', 'b8', 'b9']);
    expect((await fixture.told())[0]).toBe('00:01 succeeded');
  });

  it('hands a run over when its process is closed, without counting that as a failure', async () => {
    const a = fixture.started('a', { work: untilStopped });
    await fixture.runtime.advance(1_000);
    const b = fixture.started('b');
    await fixture.runtime.advance(minuteMs);
    await fixture.runtime.advanceUntil(a.schedule.close());
    await fixture.runtime.advance(1_000);
    expect(a.log).toContain('runInterrupted 00:01 waiting');
    expect(b.log).toContain('runEnded 00:01 succeeded');
    expect((await fixture.history())[0]).toMatchObject({ attempt: 2, interruptionCount: 0 });
  });

  it('leaves a run that was interrupted too often, and says that what it did is unknown', async () => {
    const options = { work: untilStopped, job: { resumeLimit: 0 } };
    const a = fixture.started('a', options);
    await fixture.runtime.advance(1_000);
    const b = fixture.started('b', options);
    await fixture.runtime.advance(minuteMs);
    a.crash();
    await fixture.runtime.advance(2 * ttlMs);
    expect(await fixture.told()).toEqual(['00:01 abandoned']);
    expect((await fixture.history())[0]?.detail).toContain('unknown');
    expect(b.attempts).toEqual([]);
  });

  it('of work that must not be begun twice is left when it throws while its process stops', async () => {
    const options = { work: untilStopped, job: { resumeLimit: 0 } };
    const a = fixture.started('a', options);
    await fixture.runtime.advance(1_000);
    const b = fixture.started('b', options);
    await fixture.runtime.advance(minuteMs);
    await fixture.runtime.advanceUntil(a.schedule.close());
    await fixture.runtime.advance(ttlMs);
    expect(await fixture.told()).toEqual(['00:01 abandoned']);
    expect(b.attempts).toEqual([]);
  });

  it('heals upward when the store has seen a higher term than it grants', async () => {
    const a = fixture.started('a');
    await fixture.runtime.advance(minuteMs + 1_000);
    await fixture.runtime.advanceUntil(a.schedule.close());
    const job = fixture.state.jobs.get('minutely');
    if (job === undefined) throw new Error('there is no job');
    job.record = { ...job.record, term: job.record.term + 1_000_000_000 };
    const b = fixture.started('b');
    await fixture.runtime.advance(2 * minuteMs);
    expect((await fixture.told()).at(-1)).toMatch(/succeeded/);
    expect(b.attempts[0]?.lease.term).toBeGreaterThan(job.record.term - 1);
  });
});

describe('a schedule that cannot begin', () => {
  it('says so, and begins once what it lacks is there', async () => {
    const a = fixture.replica('a');
    const { coordinator } = a.store;
    const acquire = coordinator.acquire.bind(coordinator);
    coordinator.acquire = async () => {
      throw new StoreMisconfiguredError('there are no tables');
    };
    const told: unknown[] = [];
    a.schedule.events.on('startFailed', ({ error }) => told.push(error));
    a.schedule.start();
    await fixture.runtime.advance(30_000);
    expect(told.length).toBeGreaterThan(1);
    expect(told[0]).toMatchObject({ message: 'there are no tables' });
    coordinator.acquire = acquire;
    await fixture.runtime.advance(3 * minuteMs);
    expect((await fixture.told()).at(-1)).toMatch(/succeeded/);
  });

  it('is told as a warning of the process, once, if nobody listens', async () => {
    const a = fixture.replica('a');
    a.store.coordinator.acquire = async () => {
      throw new StoreMisconfiguredError('there are no tables');
    };
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    a.schedule.start();
    await fixture.runtime.advance(10 * minuteMs);
    expect(warn.mock.calls).toEqual([
      [
        'the schedule "schedule" cannot lead, and tries again: there are no tables',
        'TenureScheduleWarning',
      ],
    ]);
    warn.mockRestore();
  });

  it.each([
    ['timezone', 'did you mean timeZone?'],
    ['timeout', 'did you mean timeoutMs?'],
    ['colour', 'use some of cron,'],
  ])('refuses an option that is none: %s', (option, remedy) => {
    const { schedule } = fixture.replica('a');
    const options = { cron: '* * * * *', [option]: 'x' };
    expect(() => schedule.job('other', options, () => {})).toThrow(remedy);
    expect(() => fixture.replica('b', { schedule: { [option]: 1 } })).toThrow('is no option');
  });
});

describe('a failed attempt', () => {
  it('is repeated as often as the job allows, after a pause, under one run id', async () => {
    const a = fixture.started('a', {
      job: { retry: { limit: 2 } },
      work: ({ attempt }) => {
        if (attempt < 3) throw new Error(`boom ${attempt}`);
      },
    });
    await fixture.runtime.advance(minuteMs + 10_000);
    expect(a.attempts.map(({ run, attempt }) => [run.id.slice(-13), attempt])).toEqual([
      ['00:01:00.000Z'.slice(-13), 1],
      ['00:01:00.000Z', 2],
      ['00:01:00.000Z', 3],
    ]);
    expect((await fixture.history())[0]).toMatchObject({ state: 'succeeded', failureCount: 2 });
  });

  it('keeps no password and no length of its message while it waits for the next one', async () => {
    fixture.started('a', {
      job: { retry: { limit: 1, firstPauseMs: 60_000 } },
      work: () => {
        throw new Error(`postgres://user:secret@db ${'x'.repeat(5_000)}`);
      },
    });
    await fixture.runtime.advance(minuteMs + 1_000);
    const [run] = await fixture.history();
    expect(run?.state).toBe('waiting');
    expect(run?.detail).not.toMatch(/secret/);
    expect(run?.detail?.length).toBeLessThanOrEqual(1_024);
  });

  it.each([Object.create(null), undefined, Symbol('x'), { message: 1 }])(
    'may throw anything: %#',
    async (thrown) => {
      fixture.started('a', {
        work: () => {
          throw thrown;
        },
      });
      await fixture.runtime.advance(2 * minuteMs + 1_000);
      expect(await fixture.told()).toEqual(['00:01 failed', '00:02 failed']);
    },
  );

  it('ends the run when there are no retries left, with its message', async () => {
    fixture.started('a', {
      work: () => {
        throw new Error('no connection to postgres://user:secret@db/ledger');
      },
    });
    await fixture.runtime.advance(minuteMs + 1_000);
    const [run] = await fixture.history();
    expect(run).toMatchObject({ state: 'failed', failureCount: 1 });
    expect(run?.detail).toMatch(/no connection/);
    expect(run?.detail).not.toMatch(/secret/);
  });

  it('is one that takes longer than timeoutMs', async () => {
    const a = fixture.started('a', { job: { timeoutMs: 10_000 }, work: untilStopped });
    await fixture.runtime.advance(minuteMs + 11_000);
    expect(await fixture.told()).toEqual(['00:01 timed-out']);
    expect(a.attempts[0]?.signal.reason).toMatchObject({ code: 'TENURE_RUN_TIMEOUT' });
  });

  it('is one that heeds no signal and ends without an error after its time, and the history says so', async () => {
    const options = { timeoutMs: 5_000, retry: { limit: 1, firstPauseMs: 1_000 } };
    const a = fixture.started('a', {
      job: options,
      work: (_, runtime) => sleep(runtime, 10_000),
    });
    await fixture.runtime.advance(minuteMs + 10_100);
    const detail = 'it took too long. Its work ended without an error after that.';
    expect(await fixture.history()).toMatchObject([{ state: 'waiting', failureCount: 1, detail }]);
    await fixture.runtime.advance(12_000);
    expect(await fixture.history()).toMatchObject([{ state: 'timed-out', attempt: 2, detail }]);
    expect(a.attempts).toHaveLength(2);
  });

  it('is none if it ended in time, however long what it saved takes', async () => {
    const a = fixture.started('a', {
      job: { timeoutMs: 5_000 },
      work: ({ progress }) => {
        a.link.disturb('request', 'drop', { operation: 'write', count: 5 });
        void progress.save(1);
      },
    });
    await fixture.runtime.advance(minuteMs + 20_000);
    expect(await fixture.told()).toEqual(['00:01 succeeded']);
  });
});
