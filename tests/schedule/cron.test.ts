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

const minuteMs = 60_000;

/** Clocks are set at these times: forward by one hour, half of one and two, at midnight and into it; and back. */
const changes: [zone: string, at: string][] = [
  ['Europe/Berlin', '2026-03-29T01:00Z'],
  ['Europe/Berlin', '2026-10-25T01:00Z'],
  ['America/New_York', '2026-11-01T06:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T15:30Z'],
  ['Australia/Lord_Howe', '2026-04-04T15:00Z'],
  ['Antarctica/Troll', '2026-03-29T01:00Z'],
  ['Antarctica/Troll', '2026-10-25T01:00Z'],
  ['America/Nuuk', '2026-03-29T01:00Z'],
  ['America/Nuuk', '2026-10-25T01:00Z'],
  ['Africa/Cairo', '2026-04-23T22:00Z'],
  ['Africa/Cairo', '2026-10-29T21:00Z'],
];

const walls = new Map<string, (atMs: number) => number>();

/** What a clock on the wall shows, as if it were UTC. */
function wallOf(zone: string): (atMs: number) => number {
  const known = walls.get(zone);
  if (known !== undefined) return known;
  const clock = new Intl.DateTimeFormat('sv-SE', {
    ...{ timeZone: zone, dateStyle: 'short', timeStyle: 'short' },
  });
  const shown = new Map<number, number>();
  const wall = (atMs: number) => {
    const seenMs = shown.get(atMs) ?? Date.parse(`${clock.format(atMs).replace(' ', 'T')}Z`);
    shown.set(atMs, seenMs);
    return seenMs;
  };
  walls.set(zone, wall);
  return wall;
}

/** The due times after `fromMs` and up to `toMs`, found by looking at the clock on the wall at each minute. */
function walked(cron: string, zone: string, fromMs: number, toMs: number): number[] {
  const [minutes = '', hours = '', , , weekdays = ''] = cron.split(' ');
  const wall = wallOf(zone);
  const matches = (wallMs: number) => {
    const shown = new Date(wallMs);
    return (
      isNamed(minutes, shown.getUTCMinutes()) &&
      isNamed(hours, shown.getUTCHours()) &&
      isNamed(weekdays, shown.getUTCDay())
    );
  };
  const due: number[] = [];
  let latestMs = wall(fromMs - 5 * 60 * minuteMs);
  for (let atMs = fromMs - 5 * 60 * minuteMs + minuteMs; atMs <= toMs; atMs += minuteMs) {
    const shownMs = wall(atMs);
    let isDue = matches(shownMs) && (shownMs > latestMs || hours.startsWith('*'));
    for (let leftOutMs = latestMs + minuteMs; leftOutMs < shownMs; leftOutMs += minuteMs)
      isDue ||= hours !== '*' && matches(leftOutMs);
    if (isDue && atMs > fromMs) due.push(atMs);
    latestMs = Math.max(latestMs, shownMs);
  }
  return due;
}

/** Whether a field of `*`, a step of it, numbers or a range names this. */
function isNamed(field: string, value: number): boolean {
  return field.split(',').some((part) => {
    const [range = '', step = '1'] = part.split('/');
    const [first = '', last = first] = range.split('-');
    return (range === '*' || (value >= +first && value <= +last)) && value % +step === 0;
  });
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

  it.each([
    ['15 1,2 * * *', 'Europe/Berlin', '2026-03-29T00:15 2026-03-29T01:00 2026-03-29T23:15'],
    ['0 2,3 * * *', 'Europe/Berlin', '2026-03-29T01:00 2026-03-30T00:00'],
    ['*/10 2,4 * * *', 'Europe/Berlin', '2026-03-29T01:00 2026-03-29T02:00'],
    ['30 */2 * * *', 'Europe/Berlin', '2026-03-28T23:30 2026-03-29T01:00 2026-03-29T02:30'],
    ['15 0,1 * * *', 'Africa/Cairo', '2026-04-23T22:00 2026-04-23T22:15 2026-04-24T21:15'],
    ['15 1,2 * * *', 'Africa/Casablanca', '2026-03-22T01:15 2026-03-22T02:00 2026-03-23T00:15'],
    ['15,45 2 * * *', 'Australia/Lord_Howe', '2026-10-03T15:30 2026-10-03T15:45 2026-10-04T15:15'],
    ['15 1,2 * * *', 'Antarctica/Troll', '2026-03-29T01:00 2026-03-29T23:15'],
    ['15 1 * * *', 'Antarctica/Troll', '2026-03-29T01:00 2026-03-29T23:15'],
    ['45 23 * * *', 'America/Nuuk', '2026-03-29T01:00 2026-03-30T00:45'],
    ['59 23 * * 6', 'America/Nuuk', '2026-03-29T01:00 2026-04-05T00:59'],
    ['0 0 30 12 *', 'Pacific/Apia', '2011-12-30T10:00 2012-12-29T10:00'],
  ])('in any gap are due when it ends, once, whatever else is due: %s in %s', (cron, zone, due) => {
    const [first = '', ...rest] = due.split(' ');
    const after = new Date(Date.parse(`${first}Z`) - 1).toISOString();
    expect(ticks(cron, zone, after, 1 + rest.length)).toEqual([first, ...rest]);
  });

  it.each([
    ['*/30 * * * *', '2026-03-29T00:30 2026-03-29T01:00 2026-03-29T01:30'],
    ['15 * * * *', '2026-03-29T00:15 2026-03-29T01:15 2026-03-29T02:15'],
  ])('of every hour are those of the hours that there are: %s', (cron, due) => {
    expect(ticks(cron, 'Europe/Berlin', '2026-03-29T00:10:00Z', 3)).toEqual(due.split(' '));
  });

  it('are those that somebody finds who walks through every minute and watches the clock', () => {
    const minute = fc.constantFrom('0', '15', '7,45', '*/20', '*');
    const hour = fc.constantFrom(
      '*',
      '*/2',
      '*/12',
      '0',
      '1',
      '2',
      '23',
      '0,1',
      '1,2',
      '0-3',
      '22-23',
    );
    const day = fc.constantFrom('*', '*', '0', '6');
    fc.assert(
      fc.property(fc.constantFrom(...changes), minute, hour, day, ([zone, at], ...fields) => {
        const [m, h, weekday] = fields;
        const cron = `${m} ${h} * * ${weekday}`;
        const fromMs = Date.parse(at) - 5 * 60 * minuteMs;
        const toMs = fromMs + 10 * 60 * minuteMs;
        const found: number[] = [];
        const times = new CronTimes(cron, zone);
        for (let atMs = times.nextAfter(fromMs); atMs !== undefined && atMs <= toMs; ) {
          found.push(atMs);
          atMs = times.nextAfter(atMs);
        }
        expect(found, `${cron} in ${zone}`).toEqual(walked(cron, zone, fromMs, toMs));
      }),
      { numRuns: 60 },
    );
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

it('has seconds first with six fields, and a year last with seven, after which nothing is due', () => {
  const cron = '30 0 3 1 1 *';
  expect(ticks(cron, 'UTC', '2026-11-30', 2)).toEqual(['2027-01-01T03:00', '2028-01-01T03:00']);
  expect(ticks(`${cron} 2028`, 'Asia/Tokyo', '2026-11-30', 2)).toEqual(['2027-12-31T18:00']);
});

describe('what is no schedule', () => {
  it.each([
    ['', 'is not a cron expression'],
    ['* * * *', 'is not a cron expression (it has 4 fields) (got "* * * *"): use five fields'],
    [
      '61 * * * *',
      'is not a cron expression (Invalid value for minute: 61) (got "61 * * * *"): correct that field: minute 0 to 59',
    ],
    ['@dayly', 'is not a cron expression (no such name) (got "@dayly"): did you mean @daily?'],
    [
      '@fortnightly',
      'is not a cron expression (no such name) (got "@fortnightly"): use @yearly, @annually,',
    ],
    ['0 0 30 2 *', 'is never due'],
    ['0 0 0 29 2 * 2027', 'is never due'],
    ['* * * * * * * *', 'is not a cron expression (it has 8 fields)'],
    [null, 'is not a text'],
  ])('is refused: %s', (cron, problem) => {
    expect(() => new CronTimes(cron as string, 'UTC')).toThrow(`cron ${problem}`);
  });

  it('is as long as it may be, and no longer', () => {
    const longest = `${'1,'.repeat(499)}11 * * * *`.padEnd(1_024);
    expect(new CronTimes(longest, 'UTC').expression).toHaveLength(1_024);
    expect(() => new CronTimes(`${longest} `, 'UTC')).toThrow('use at most 1024 characters');
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 8.64e15, '5', undefined, null])(
    'is asked for what is due after a time that is none: %s',
    (afterMs) => {
      for (const zone of ['UTC', 'Europe/Berlin']) {
        const times = new CronTimes('* * * * *', zone);
        expect(() => times.nextAfter(afterMs as number)).toThrow('afterMs is no time');
      }
    },
  );

  it('is a time zone that nobody knows', () => {
    expect(() => new CronTimes('* * * * *', 'Mars/Phobos')).toThrow('timeZone is not a time zone');
  });
});
