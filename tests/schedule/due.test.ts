import { describe, expect, it } from 'vitest';
import { CronTimes } from '../../src/schedule/cron.js';
import { due, type MisfirePolicy, mostCounted } from '../../src/schedule/rules/due.js';

const at = (text: string) => Date.parse(`2026-01-01T${text}Z`);
const everyMinute = new CronTimes('* * * * *', 'UTC');
const policy: MisfirePolicy = { misfire: 'once', lateAfterMs: 60_000, catchUpMs: 86_400_000 };

describe('what is due', () => {
  it('is nothing before the next tick', () => {
    const found = due(everyMinute, policy, at('00:00:00'), at('00:00:59'));
    expect(found).toEqual({
      tickMs: undefined,
      skipped: undefined,
      consideredToMs: at('00:00:00'),
      nextMs: at('00:01:00'),
    });
  });

  it('is the tick from its own instant on', () => {
    const found = due(everyMinute, policy, at('00:00:00'), at('00:01:00'));
    expect(found).toMatchObject({ tickMs: at('00:01:00'), skipped: undefined });
    expect(found).toMatchObject({ consideredToMs: at('00:01:00'), nextMs: at('00:02:00') });
  });

  it('of several late ticks is the last one by `once`, and the others are skipped', () => {
    expect(due(everyMinute, policy, at('00:00:00'), at('00:05:30'))).toMatchObject({
      tickMs: at('00:05:00'),
      skipped: { fromMs: at('00:01:00'), beforeMs: at('00:05:00'), count: 4 },
    });
  });

  it('is each of them by `all`, the oldest first', () => {
    const all = { ...policy, misfire: 'all' } as const;
    const ticks: unknown[] = [];
    let consideredToMs = at('00:00:00');
    for (let found = due(everyMinute, all, consideredToMs, at('00:03:30')); found.tickMs; ) {
      ticks.push(found.tickMs);
      expect(found.skipped).toBeUndefined();
      consideredToMs = found.consideredToMs;
      found = due(everyMinute, all, consideredToMs, at('00:03:30'));
    }
    expect(ticks).toEqual([at('00:01:00'), at('00:02:00'), at('00:03:00')]);
  });

  it('is none of them by `skip`, but one that is not late', () => {
    const skip = { ...policy, misfire: 'skip', lateAfterMs: 10_000 } as const;
    expect(due(everyMinute, skip, at('00:00:00'), at('00:03:05'))).toMatchObject({
      tickMs: at('00:03:00'),
      skipped: { count: 2 },
    });
    expect(due(everyMinute, skip, at('00:00:00'), at('00:03:11'))).toMatchObject({
      tickMs: undefined,
      skipped: { fromMs: at('00:01:00'), count: 3 },
      consideredToMs: at('00:03:00'),
      nextMs: at('00:04:00'),
    });
  });

  it('leaves out what is older than catchUpMs, whatever the policy', () => {
    const all = { ...policy, misfire: 'all', catchUpMs: 120_000 } as const;
    expect(due(everyMinute, all, at('00:00:00'), at('00:05:30'))).toMatchObject({
      tickMs: at('00:04:00'),
      skipped: { fromMs: at('00:01:00'), beforeMs: at('00:04:00'), count: 3 },
    });
    expect(
      due(everyMinute, { ...all, catchUpMs: 0 }, at('00:00:00'), at('00:05:30')),
    ).toMatchObject({
      tickMs: undefined,
      skipped: { count: 5 },
      nextMs: at('00:06:00'),
    });
  });

  it('is found at once after a year in which nobody led', () => {
    const everySecond = new CronTimes('* * * * * *', 'UTC');
    const yearLaterMs = at('00:00:00') + 365 * 86_400_000;
    expect(due(everySecond, policy, at('00:00:00'), yearLaterMs)).toMatchObject({
      tickMs: yearLaterMs,
      skipped: { fromMs: at('00:00:01'), beforeMs: yearLaterMs, count: mostCounted },
    });
  });
});
