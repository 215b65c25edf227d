import { Cron } from 'croner';
import { OptionError } from '../errors/index.js';

/** No search goes through more times than this that do not count: what comes after is taken for never. */
const mostSkipped = 10_000;
/** No clock is set forward or back by more than this at once. */
const longestShiftMs = 3 * 60 * 60 * 1000;

/**
 * The due times of a cron expression in a time zone, as Unix times in milliseconds.
 *
 * Five fields (minute, hour, day, month, weekday), or six with seconds first, or a nickname such as `@daily`. They are
 * evaluated by the package `croner`. A local time that daylight saving leaves out is due when the gap ends; one that the
 * clock shows twice is due once, the first time, unless the hour field is a wildcard (`*` or a step of it): then every hour counts, and
 * so do both of these.
 */
export class CronTimes {
  readonly expression: string;
  readonly timeZone: string;
  readonly #cron: Cron;
  readonly #everyHour: boolean;
  readonly #local: Intl.DateTimeFormat;

  /** @throws {OptionError} for an expression or a time zone that is none, or that is never due. */
  constructor(expression: string, timeZone: string) {
    this.expression = expression;
    this.timeZone = timeZone;
    this.#local = formatOf(timeZone);
    this.#cron = parse(expression, timeZone);
    this.#everyHour = isEveryHour(expression);
  }

  /** The first due time after `afterMs`; `undefined` if there is none any more. Always later than `afterMs`. */
  nextAfter(afterMs: number): number | undefined {
    let fromMs = afterMs;
    for (let skipped = 0; skipped <= mostSkipped; skipped++) {
      const atMs = this.#cron.nextRun(new Date(fromMs))?.getTime();
      if (atMs === undefined) return undefined;
      if (atMs > afterMs && (this.#everyHour || !this.#isRepeated(atMs))) return atMs;
      // Whatever the evaluator answers, the search goes forward.
      fromMs = Math.max(atMs, fromMs + 1000);
    }
    return undefined;
  }

  /** Whether the clocks on the wall have shown this time before, an hour or so earlier. */
  #isRepeated(atMs: number): boolean {
    const shiftMs = this.#offsetMs(atMs - longestShiftMs) - this.#offsetMs(atMs);
    return shiftMs > 0 && this.#offsetMs(atMs - shiftMs) === this.#offsetMs(atMs) + shiftMs;
  }

  /** By how much local time is ahead of UTC. */
  #offsetMs(atMs: number): number {
    const parts = this.#local.formatToParts(atMs);
    const part = (type: string) => Number(parts.find((one) => one.type === type)?.value);
    const local = Date.UTC(
      part('year'),
      part('month') - 1,
      part('day'),
      part('hour'),
      part('minute'),
      part('second'),
    );
    return local - Math.floor(atMs / 1000) * 1000;
  }
}

/** Of a definition that somebody else wrote; `undefined` if this evaluator does not understand it, or there is none. */
export function timesOf(expression: string, timeZone: string): CronTimes | undefined {
  try {
    return new CronTimes(expression, timeZone);
  } catch {
    return undefined;
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    const remedy = 'use the name of an IANA time zone, such as Europe/Berlin or UTC';
    throw new OptionError('timeZone', timeZone, 'is not a time zone', remedy);
  }
}

function parse(expression: string, timezone: string): Cron {
  const remedy = 'use five fields (minute hour day month weekday), or six with seconds first';
  if (typeof expression !== 'string')
    throw new OptionError('cron', expression, 'is not a text', remedy);
  const fieldCount = expression.split(/\s+/).filter((field) => field !== '').length;
  if (!expression.trim().startsWith('@') && (fieldCount < 5 || fieldCount > 7)) {
    const has = fieldCount === 1 ? 'one field' : `${fieldCount} fields`;
    throw new OptionError('cron', expression, `is not a cron expression (it has ${has})`, remedy);
  }
  let cron: Cron;
  try {
    cron = new Cron(expression, { timezone, paused: true });
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^Cron\w+: /, '') : String(error);
    throw new OptionError('cron', expression, `is not a cron expression (${why})`, remedy);
  }
  if (cron.nextRun(new Date(0)) === null) {
    const never = 'use a day that the calendar has';
    throw new OptionError('cron', expression, 'is never due', never);
  }
  return cron;
}

function isEveryHour(expression: string): boolean {
  const fields = expression.trim().split(/\s+/);
  if (fields.length < 5) return expression.trim() === '@hourly';
  const hour = fields.length === 5 ? fields[1] : fields[2];
  return hour?.startsWith('*') ?? false;
}
