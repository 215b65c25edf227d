import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../support/fleet/random.js';
import { fixture, minuteMs, ttlMs, untilStopped, useScheduleFixture } from './fixture.js';

useScheduleFixture();

describe('a tick that nobody began in time', () => {
  it('runs late under the next leader, and by `once` only the last of several does', async () => {
    const a = fixture.started('a');
    await fixture.runtime.advance(1.5 * minuteMs);
    a.crash();
    await fixture.runtime.advance(3 * minuteMs);
    const b = fixture.started('b');
    await fixture.runtime.advance(ttlMs);
    expect(b.log).toContain('ticksSkipped 2');
    expect(await fixture.told()).toEqual(['00:01 succeeded', '00:02 skipped', '00:04 succeeded']);
  });

  it('is none of those from before a job was there for the first time', async () => {
    await fixture.runtime.advance(10 * minuteMs);
    fixture.started('a', { job: { misfire: 'all' } });
    await fixture.runtime.advance(1.5 * minuteMs);
    expect(await fixture.told()).toEqual(['00:11 succeeded']);
  });
});

describe('with an election for each job', () => {
  it('the jobs of a fleet are shared by its machines', async () => {
    const options = { schedule: { spread: true } };
    const [a, b] = ['a', 'b'].map((id) => fixture.replica(id, options));
    const leads: string[] = [];
    for (const replica of [a, b]) {
      replica?.schedule.job('hourly', { cron: '0 * * * *' }, () => {});
      replica?.schedule.events.on('leading', ({ lease, jobs }) =>
        leads.push(`${lease.name} ${jobs}`),
      );
      replica?.schedule.start();
    }
    await fixture.runtime.advance(1_000);
    expect(leads.sort()).toEqual(['schedule/hourly hourly', 'schedule/minutely minutely']);
  });

  it('a job goes over from one kind of leader to the other, once nobody leads in its old election', async () => {
    const a = fixture.started('a', { work: untilStopped });
    await fixture.runtime.advance(minuteMs + 1_000);
    const b = fixture.started('b', { schedule: { spread: true } });
    await fixture.runtime.advance(10_000);
    expect(b.log).toEqual(['jobElsewhere schedule', 'leading']);
    expect(b.attempts).toEqual([]);
    await fixture.runtime.advanceUntil(a.schedule.close());
    await fixture.runtime.advance(5_000);
    expect(b.log.slice(2)).toEqual(['runBegan 00:01 attempt 2', 'runEnded 00:01 succeeded']);
  });

  it('an old leader that wakes after its job went over writes nothing any more', async () => {
    let finish = () => {};
    const a = fixture.started('a', {
      work: () => new Promise<void>((resolve) => (finish = resolve)),
    });
    await fixture.runtime.advance(minuteMs + 1_000);
    a.freeze();
    fixture.started('b', { schedule: { spread: true } });
    await fixture.runtime.advance(3 * ttlMs);
    const before = await fixture.history();
    a.thaw();
    finish();
    await fixture.runtime.advance(1_000);
    expect(await fixture.history()).toEqual(before);
    expect(before).toMatchObject([{ state: 'succeeded', holderId: 'b' }]);
  });
});

describe('whatever happens to three replicas in a thousand ticks', () => {
  it.each([1])(
    'each tick has one accepted run under `all`: seed %i',
    async (seed) => {
      const tickMs = 10_000;
      const seeded = new SeededRandom(seed);
      const random = () => seeded.next();
      const job = {
        ...{ cron: '*/10 * * * * *', misfire: 'all' as const },
        ...{ resumeLimit: 1_000, keepRuns: 10_000 },
      };
      let count = 0;
      const join = () => fixture.started(`r${count++}`, { job });
      const alive = [join(), join(), join()];
      while (fixture.runtime.now().wallMs < Date.UTC(2026, 0, 1) + 1_000 * tickMs) {
        await fixture.runtime.advance(random() * 20_000);
        const index = Math.floor(random() * alive.length);
        const victim = alive[index];
        const fate = random();
        if (victim === undefined) continue;
        if (fate < 0.3) {
          victim.crash();
          alive[index] = join();
        } else if (fate < 0.6) {
          victim.freeze();
          await fixture.runtime.advance(random() * 3 * ttlMs);
          victim.thaw();
        } else if (fate < 0.7) {
          fixture.runtime.stepWall(random() * 4_000 - 2_000);
        } else if (fate < 0.8) {
          victim.link.disturb('reply', 'drop', { count: Math.ceil(random() * 5) });
        } else if (fate < 0.9) {
          victim.link.disturb('request', 'duplicate', { count: Math.ceil(random() * 20) });
        }
      }
      await fixture.runtime.advance(3 * minuteMs);
      const accepted = [...(fixture.state.jobs.get('minutely')?.runs.values() ?? [])];
      const ticks = new Set(accepted.map((run) => run.tickMs));
      expect(accepted.every(({ state }) => state === 'succeeded')).toBe(true);
      for (let tick = 1; tick <= 1_000; tick++)
        expect(ticks.has(Date.UTC(2026, 0, 1) + tick * tickMs)).toBe(true);
      expect(ticks.size).toBe(accepted.length);
      const attempts = fixture.replicas.reduce((sum, replica) => sum + replica.attempts.length, 0);
      expect(attempts).toBeGreaterThanOrEqual(accepted.length);
    },
    120_000,
  );
});
