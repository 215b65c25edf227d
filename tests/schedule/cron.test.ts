import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CronTimes } from '../../src/schedule/cron.js';

/** The next so many due times, as ISO texts without their milliseconds. */
function ticks(cron: string, timeZone: string, after: string, count: number): string[] {
  const times = new CronTimes(cron, timeZone);
  const found: string[] = [];
  let atMs: number | undefined = Date.parse(after);
  for (let index = 0; index < count; index++) {
    atMs = times.nextAfter(atMs);
    if (atMs === undefined) break;
    found.push(new Date(atMs).toISOString().slice(0, 16));
  }
  return found;
}

describe('due times', () => {
  it('are those of the local time in their zone', () => {
    expect(ticks('0 9 * * 1-5', 'Asia/Tokyo', '2026-01-02T01:00:00Z', 2)).toEqual([
      '2026-01-05T00:00',
      '2026-01-06T00:00',
    ]);
  });

  it('in a gap of daylight saving are due when the gap ends', () => {
    expect(ticks('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).toEqual([
      '2026-03-29T01:00',
      '2026-03-30T00:30',
    ]);
  });

  it('that the clock shows twice are due the first time alone', () => {
    expect(ticks('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ]);
    expect(ticks('15 1,2 * * *', 'America/New_York', '2026-11-01T04:00:00Z', 3)).toEqual([
      '2026-11-01T05:15',
      '2026-11-01T07:15',
      '2026-11-02T06:15',
    ]);
    expect(ticks('45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T12:00:00Z', 2)).toEqual([
      '2026-04-04T14:45',
      '2026-04-05T15:15',
    ]);
  });

  it('of every hour are due in both of the hours that have one name', () => {
    expect(ticks('*/30 * * * *', 'Europe/Berlin', '2026-10-24T23:45:00Z', 5)).toEqual([
      '2026-10-25T00:00',
      '2026-10-25T00:30',
      '2026-10-25T01:00',
      '2026-10-25T01:30',
      '2026-10-25T02:00',
    ]);
  });

  it('lie strictly one after the other, in every zone and around every change of its clocks', () => {
    const zones = [
      'UTC',
      'Europe/Berlin',
      'America/New_York',
      'Australia/Lord_Howe',
      'Asia/Kolkata',
    ];
    const field = (highest: number) =>
      fc.oneof(
        fc.constant('*'),
        fc.integer({ min: 2, max: 20 }).map((step) => `*/${step}`),
        fc.integer({ min: 0, max: highest }).map(String),
      );
    const years = { min: Date.UTC(2024, 0, 1), max: Date.UTC(2028, 0, 1) };
    fc.assert(
      fc.property(
        field(59),
        field(23),
        fc.constantFrom(...zones),
        fc.integer(years),
        (minute, hour, zone, startMs) => {
          const times = new CronTimes(`${minute} ${hour} * * *`, zone);
          let beforeMs = startMs;
          for (let index = 0; index < 30; index++) {
            const nextMs = times.nextAfter(beforeMs) ?? 0;
            expect(nextMs).toBeGreaterThan(beforeMs);
            expect(times.nextAfter(nextMs - 1)).toBe(nextMs);
            beforeMs = nextMs;
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('what is no schedule', () => {
  it.each([
    ['', 'is not a cron expression'],
    ['* * * *', 'is not a cron expression (it has 4 fields) (got "* * * *"): use five fields'],
    ['61 * * * *', 'is not a cron expression'],
    ['0 0 30 2 *', 'is never due'],
    [null, 'is not a text'],
  ])('is refused: %s', (cron, problem) => {
    expect(() => new CronTimes(cron as string, 'UTC')).toThrow(`cron ${problem}`);
  });

  it('is a time zone that nobody knows', () => {
    expect(() => new CronTimes('* * * * *', 'Mars/Phobos')).toThrow('timeZone is not a time zone');
  });
});
