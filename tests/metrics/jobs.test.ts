import { afterEach, describe, expect, it } from 'vitest';
import { MemoryStore } from '../../src/coordinators/memory/index.js';
import { type EventLogger, eventCatalogue, logEvents } from '../../src/log.js';
import { Once } from '../../src/once/index.js';
import { MemoryKeys, memoryOnce } from '../../src/once/memory/index.js';
import { Schedule, type ScheduleOptions } from '../../src/schedule/index.js';
import { MemoryJobs, memoryJobs } from '../../src/schedule/memory/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';
import { scraped } from './scrape.js';

const ended: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

/** A process that runs two jobs every minute, of which one fails at its first attempt. */
function createSchedule(options: Pick<ScheduleOptions, 'spread'> = {}) {
  const runtime = new VirtualRuntime({ wallMs: Date.UTC(2026, 0, 1) });
  const store = memoryJobs(new MemoryJobs(new MemoryStore({ runtime })), { runtime });
  const schedule = new Schedule(store, { id: 'a', runtime, ...options });
  let attemptCount = 0;
  schedule.job('books', { cron: '* * * * *', retry: { limit: 1 } }, () => {
    attemptCount += 1;
    if (attemptCount === 1) throw new Error('a secret');
  });
  schedule.job('mails', { cron: '* * * * *' }, () => {
    throw new Error('a secret');
  });
  ended.push(() => runtime.advanceUntil(schedule.close()));
  return { runtime, schedule };
}

describe('the metrics of a schedule', () => {
  it('count its runs by outcome and the attempts that failed, and show who runs the jobs', async () => {
    const { runtime, schedule } = createSchedule();
    const { metrics, scrape } = scraped({ runtime });
    ended.push(() => metrics.close());
    metrics.observe(schedule);
    schedule.start();
    await runtime.advance(115_000);
    const samples = await runtime.advanceUntil(scrape());
    expect(samples.get('tenure_schedule_runs_total{job="books",outcome="succeeded"}')).toBe(1);
    expect(samples.get('tenure_schedule_attempts_failed_total{job="books"}')).toBe(1);
    expect(samples.get('tenure_schedule_runs_total{job="mails",outcome="failed"}')).toBe(1);
    expect(samples.get('tenure_schedule_jobs_led')).toBe(2);
    expect(samples.get('tenure_election_leader{election="schedule"}')).toBe(1);
    await runtime.advanceUntil(schedule.close());
    const after = await runtime.advanceUntil(scrape());
    expect(after.get('tenure_schedule_jobs_led')).toBe(0);
    expect(after.get('tenure_election_leader{election="schedule"}')).toBe(0);
  });

  it('show each election of one that spreads its jobs, and the leases they are led by', async () => {
    const { runtime, schedule } = createSchedule({ spread: true });
    const { metrics, scrape } = scraped({ runtime });
    ended.push(() => metrics.close());
    metrics.observe(schedule);
    schedule.start();
    await runtime.advance(35_000);
    const samples = await runtime.advanceUntil(scrape());
    for (const job of ['books', 'mails'])
      expect(samples.get(`tenure_election_leader{election="schedule/${job}"}`)).toBe(1);
    expect(samples.get('tenure_leases{store="memory",state="held"}')).toBe(2);
    expect(samples.get('tenure_lease_acquired_total{store="memory"}')).toBe(2);
    expect(samples.get('tenure_lease_remaining_shortest_ratio{store="memory"}')).toBe(0.5);
    const renewals =
      'tenure_lease_renewal_duration_seconds_count{store="memory",outcome="answered"}';
    expect(samples.get(renewals)).toBe(3);
    metrics.observe(schedule.leases);
    expect((await scrape()).get('tenure_leases{store="memory",state="held"}')).toBe(2);
  });

  it('have lines in the log as the table declares them, without what the work said', async () => {
    const { runtime, schedule } = createSchedule();
    const lines: Record<string, unknown>[] = [];
    const note = (object: object) => void lines.push(object as Record<string, unknown>);
    const logger: EventLogger = { info: note, warn: note, error: note };
    ended.push(logEvents(logger, schedule));
    schedule.start();
    await runtime.advance(115_000);
    await runtime.advanceUntil(schedule.close());
    const names = new Set(lines.map(({ event }) => event));
    expect(names).toEqual(
      new Set([
        ...['schedule.leading', 'run.began', 'run.failed', 'run.given-up', 'run.ended'],
        'schedule.stopped-leading',
      ]),
    );
    for (const { event, ...fields } of lines) {
      const declared = eventCatalogue[event as keyof typeof eventCatalogue];
      expect(Object.keys(fields).sort(), String(event)).toEqual([...declared.fields].sort());
    }
    expect(JSON.stringify(lines)).not.toContain('secret');
  });
});

describe('the metrics of effects that no fence guards', () => {
  it('count those whose outcome is not known', async () => {
    const runtime = new VirtualRuntime();
    const once = new Once(memoryOnce(new MemoryKeys({ runtime })), { runtime, id: 'a' });
    const { metrics, scrape } = scraped({ runtime });
    ended.push(() => metrics.close());
    metrics.observe(once);
    const failing = once.do('charge/1', () => {
      throw new Error('no answer');
    });
    await expect(runtime.advanceUntil(failing)).rejects.toThrow();
    expect((await scrape()).get('tenure_once_unknown_total')).toBe(1);
  });
});
