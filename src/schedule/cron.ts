import { Cron } from 'croner';
import { nearest } from '../errors/checks.js';
import { OptionError } from '../errors/index.js';
import { longestShiftMs, ZoneClock } from './zone-clock.js';

/**
 * The due times of a cron expression in a time zone, as Unix times in milliseconds.
 *
 * Five fields (minute, hour, day, month, weekday), or six with seconds first, or seven with a year last as well, or a
 * nickname such as `@daily`; at most 1,024 characters. They are evaluated by the package `croner`. Local times that daylight saving leaves out are due when the gap ends, all of them once,
 * unless the hour field is `*`: the hours that there are count then. One that the clock shows twice is due once, the first time,
 * unless the hour field is `*` or a step of it: then every hour counts, and so do both of these.
 */
export class CronTimes {
  readonly expression: string;
  readonly timeZone: string;
  /** Knows nothing of the zone: what it takes for UTC is what a clock on the wall shows. */
  readonly #wall: Cron;
  readonly #hours: Hours;
  readonly #zone: ZoneClock;
  /** A leader asks the same at all news, and a day that comes in years takes long to find. */
  #answered: { readonly afterMs: number; readonly dueMs: number | undefined } | undefined;

  /** @throws {OptionError} for an expression or a time zone that is none, or that is never due. */
  constructor(expression: string, timeZone: string) {
    this.expression = expression;
    this.timeZone = timeZone;
    this.#zone = new ZoneClock(timeZone);
    this.#wall = parse(expression);
    this.#hours = hoursOf(expression);
  }

  /**
   * The first due time after `afterMs`, a Unix time; `undefined` if there is none any more. Always later than `afterMs`.
   *
   * @throws {OptionError} for what is no time.
   */
  nextAfter(afterMs: number): number | undefined {
    if (!(typeof afterMs === 'number' && Math.abs(afterMs) <= lastMs)) {
      const remedy = 'use a Unix time in milliseconds';
      throw new OptionError('afterMs', afterMs, 'is no time', remedy);
    }
    if (this.#answered?.afterMs === afterMs) return this.#answered.dueMs;
    const foundMs = this.#firstAfter(afterMs);
    const dueMs = this.#hours === 'some' ? foundMs : this.#orRepeated(afterMs, foundMs);
    this.#answered = { afterMs, dueMs };
    return dueMs;
  }

  /** As if no time were shown twice, but for where that began before `afterMs` and counts. */
  #firstAfter(afterMs: number): number | undefined {
    let wallMs = this.#wallAfter(afterMs + this.#zone.offsetMs(afterMs));
    while (wallMs !== undefined) {
      const { atMs, againMs, isLeftOut, untilWallMs } = this.#zone.whenShown(wallMs);
      const isDue = !(isLeftOut && this.#hours === 'all');
      if (isDue && atMs > afterMs) return atMs;
      if (againMs !== undefined && againMs > afterMs && this.#hours !== 'some') return againMs;
      // What is left out or shown twice is passed over as a whole.
      wallMs = this.#wallAfter(untilWallMs === undefined ? wallMs : untilWallMs - 1);
    }
    return undefined;
  }

  /** The clock may be set back before that, and show times again that lie behind. */
  #orRepeated(afterMs: number, foundMs: number | undefined): number | undefined {
    const back = this.#zone.changeBetween(afterMs, afterMs + longestShiftMs);
    if (back === undefined || back.beforeMs <= back.afterMs) return foundMs;
    const wallMs = this.#wallAfter(back.atMs + back.afterMs - 1);
    if (wallMs === undefined || wallMs >= back.atMs + back.beforeMs) return foundMs;
    return Math.min(foundMs ?? Number.POSITIVE_INFINITY, wallMs - back.afterMs);
  }

  #wallAfter(wallMs: number): number | undefined {
    return this.#wall.nextRun(new Date(wallMs))?.getTime();
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

/** In characters. All minutes and all hours by their numbers take a quarter of it. */
const longestExpression = 1_024;

/** Until then, and from as long before 1970 on, the local times of all zones are dates. */
const lastMs = 8.6e15;

const ranges =
  'correct that field: minute 0 to 59, hour 0 to 23, day 1 to 31, month 1 to 12 or JAN to DEC, weekday 0 to 7 or SUN to SAT';

const nicknames = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];

function isNickname(expression: string): boolean {
  return nicknames.includes(expression.trim().toLowerCase());
}

function noNickname(expression: string): OptionError {
  const meant = nearest(expression.trim(), nicknames);
  const remedy =
    meant === undefined
      ? `use ${nicknames.slice(0, -1).join(', ')} or ${nicknames.at(-1)}, or five fields (minute hour day month weekday)`
      : `did you mean ${meant}?`;
  return new OptionError('cron', expression, 'is not a cron expression (no such name)', remedy);
}

function parse(expression: string): Cron {
  const remedy =
    'use five fields (minute hour day month weekday), six with seconds first, or seven with a year last as well';
  if (typeof expression !== 'string')
    throw new OptionError('cron', expression, 'is not a text', remedy);
  if (expression.length > longestExpression) {
    const shorter = `use at most ${longestExpression} characters, or several jobs`;
    throw new OptionError('cron', expression, 'is too long', shorter);
  }
  if (expression.trim().startsWith('@') && !isNickname(expression)) throw noNickname(expression);
  const fieldCount = expression.split(/\s+/).filter((field) => field !== '').length;
  if (!isNickname(expression) && (fieldCount < 5 || fieldCount > 7)) {
    const has = fieldCount === 1 ? 'one field' : `${fieldCount} fields`;
    throw new OptionError('cron', expression, `is not a cron expression (it has ${has})`, remedy);
  }
  let cron: Cron;
  try {
    cron = new Cron(expression, { timezone: 'UTC', paused: true });
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^Cron\w+: /, '') : String(error);
    throw new OptionError('cron', expression, `is not a cron expression (${why})`, ranges);
  }
  if (cron.nextRun(new Date(0)) === null) {
    const never = 'use a day that the calendar has';
    throw new OptionError('cron', expression, 'is never due', never);
  }
  return cron;
}

/** Which hours an expression names: all there are, every so many, or some by their numbers. */
type Hours = 'all' | 'stepped' | 'some';

function hoursOf(expression: string): Hours {
  const fields = expression.trim().split(/\s+/);
  if (fields.length < 5) return expression.trim() === '@hourly' ? 'all' : 'some';
  const hour = (fields.length === 5 ? fields[1] : fields[2]) ?? '';
  if (/^[*?](?:\/1)?$/.test(hour)) return 'all';
  return /^[*?]/.test(hour) ? 'stepped' : 'some';
}
