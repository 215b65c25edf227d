import { OptionError } from '../errors/index.js';

/**
 * What a clock shows is never further than this from what it would show without the nearest change: whole days were left
 * out where the date line was moved. Nor is one set twice in twice that time.
 */
export const longestShiftMs = 48 * 60 * 60 * 1000;

/** A clock is set: local time is `beforeMs` ahead of UTC before `atMs`, and `afterMs` from then on. */
interface ClockChange {
  readonly atMs: number;
  readonly beforeMs: number;
  readonly afterMs: number;
}

/** When a clock on the wall shows some time. */
interface Shown {
  /** The first time; or when the gap ends, if it is left out. */
  readonly atMs: number;
  readonly isLeftOut: boolean;
  readonly againMs?: number;
  /** If it is left out or shown twice: where the wall's times end of which that is so. */
  readonly untilWallMs?: number;
}

/** The local time of one zone. What the clock on the wall shows is a number here as well: that of the time as if it were UTC. */
export class ZoneClock {
  readonly #local: Intl.DateTimeFormat;
  /** The last one that was looked for. To ask for local time takes longer than all else here. */
  #found: ClockChange | undefined;
  /** Where there is none. */
  #steady = { fromMs: 0, toMs: 0, offsetMs: Number.NaN };

  /** @throws {OptionError} for a zone that is none. */
  constructor(timeZone: string) {
    this.#local = formatOf(timeZone);
  }

  /** By how much local time is ahead of UTC. */
  offsetMs(atMs: number): number {
    const { fromMs, toMs, offsetMs } = this.#steady;
    return atMs > fromMs && atMs < toMs ? offsetMs : this.#askedOffsetMs(atMs);
  }

  #askedOffsetMs(atMs: number): number {
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

  whenShown(wallMs: number): Shown {
    // Wrong by the length of a change at most, if there is one near.
    const aboutMs = wallMs - this.offsetMs(wallMs);
    const change = this.changeBetween(aboutMs - longestShiftMs, aboutMs + longestShiftMs);
    if (change === undefined) return { atMs: aboutMs, isLeftOut: false };
    const { atMs, beforeMs, afterMs } = change;
    const earlyMs = wallMs - beforeMs;
    const lateMs = wallMs - afterMs;
    const isBefore = earlyMs < atMs;
    if (isBefore !== lateMs >= atMs) return { atMs: isBefore ? earlyMs : lateMs, isLeftOut: false };
    return isBefore
      ? { atMs: earlyMs, isLeftOut: false, againMs: lateMs, untilWallMs: atMs + beforeMs }
      : { atMs, isLeftOut: true, untilWallMs: atMs + afterMs };
  }

  /** The change after `fromMs` and up to `toMs`, of which there is one at most in so short a time. */
  changeBetween(fromMs: number, toMs: number): ClockChange | undefined {
    const beforeMs = this.offsetMs(fromMs);
    const afterMs = this.offsetMs(toMs);
    if (beforeMs === afterMs) {
      this.#steady = { fromMs, toMs, offsetMs: beforeMs };
      return undefined;
    }
    const known = this.#found;
    if (known !== undefined && known.atMs > fromMs && known.atMs <= toMs) return known;
    let earlyS = Math.floor(fromMs / 1000);
    let lateS = Math.ceil(toMs / 1000);
    while (lateS - earlyS > 1) {
      const middleS = Math.floor((earlyS + lateS) / 2);
      if (this.offsetMs(middleS * 1000) === beforeMs) earlyS = middleS;
      else lateS = middleS;
    }
    this.#found = { atMs: lateS * 1000, beforeMs, afterMs };
    return this.#found;
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
