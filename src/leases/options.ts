import { hostname } from 'node:os';
import { type CoordinatorPromises, longestTtlMs, validateHolderId } from '../coordinators/index.js';
import { type Known, requireKnown } from '../errors/checks.js';
import { OptionError } from '../errors/index.js';

/** How long a lease lasts and how it is kept. All durations in milliseconds of monotonic time. */
export interface LeaseTiming {
  /** The store frees the name this long after the last renewal. 100 to 86,400,000; default 30,000. */
  readonly ttlMs?: number;
  /** How often the lease is renewed: at most a third of the ttl. Default ttl / 3. */
  readonly renewEveryMs?: number;
  /**
   * This long after the last successful request was sent, the lease is given up and its work aborted. More than
   * `renewEveryMs`, and less than the ttl by a margin of 1 % plus 10 ms for clocks that run differently. Default two
   * thirds of the ttl; the rest is for the work to stop in, so a larger value leaves it less.
   */
  readonly giveUpAfterMs?: number;
  /**
   * One request to the store may take this long. Twice as much has to fit between the first renewal and `giveUpAfterMs`,
   * so that one request without an answer does not end the lease. Default a quarter of `renewEveryMs`.
   */
  readonly attemptTimeoutMs?: number;
}

export type ResolvedTiming = Required<LeaseTiming>;

export const defaultTtlMs = 30_000;

/** A clock may run this share faster or slower than another. */
const driftShare = 0.01;
/** What remains for the reading of clocks itself: uptime has a resolution of 10 ms. */
const marginMs = 10;

const timingKeys: Known<LeaseTiming> = {
  ...{ ttlMs: true, renewEveryMs: true, giveUpAfterMs: true, attemptTimeoutMs: true },
};

/** Fills in the defaults and checks every relation; nothing is corrected silently. @throws {OptionError} */
export function resolveTiming(timing: LeaseTiming = {}): ResolvedTiming {
  return resolved(requireKnown('timing', timing, timingKeys));
}

function resolved(timing: LeaseTiming): ResolvedTiming {
  const { ttlMs = defaultTtlMs } = timing;
  duration('ttlMs', ttlMs);
  if (!Number.isInteger(ttlMs) || ttlMs < 100 || ttlMs > longestTtlMs) {
    throw new OptionError(
      'ttlMs',
      ttlMs,
      'is out of range',
      'use a whole number from 100 to 86400000',
    );
  }
  const { renewEveryMs = ttlMs / 3 } = timing;
  duration('renewEveryMs', renewEveryMs);
  if (renewEveryMs * 3 > ttlMs * (1 + Number.EPSILON)) {
    throw new OptionError(
      'renewEveryMs',
      renewEveryMs,
      `leaves less than three renewals in a ttl of ${ttlMs} ms`,
      `use at most ${Math.floor(ttlMs / 3)} ms, or a ttlMs of at least ${Math.ceil(renewEveryMs * 3)}`,
    );
  }
  const { giveUpAfterMs = (ttlMs * 2) / 3, attemptTimeoutMs = renewEveryMs / 4 } = timing;
  duration('giveUpAfterMs', giveUpAfterMs);
  const latestMs = latestGiveUpMs(ttlMs);
  if (giveUpAfterMs > latestMs || giveUpAfterMs <= renewEveryMs) {
    throw new OptionError(
      'giveUpAfterMs',
      giveUpAfterMs,
      giveUpAfterMs > latestMs
        ? 'comes too late for the ttl'
        : 'comes before the first renewal could help',
      `use more than renewEveryMs (${Math.floor(renewEveryMs)}) and at most ${Math.floor(latestMs)} ms`,
    );
  }
  duration('attemptTimeoutMs', attemptTimeoutMs);
  const longestAttemptMs = (giveUpAfterMs - renewEveryMs) / 2;
  if (attemptTimeoutMs > longestAttemptMs) {
    throw new OptionError(
      'attemptTimeoutMs',
      attemptTimeoutMs,
      `leaves no time for a second try between renewEveryMs (${Math.floor(renewEveryMs)}) and giveUpAfterMs (${Math.floor(giveUpAfterMs)})`,
      `use at most ${Math.floor(longestAttemptMs)} ms`,
    );
  }
  return { ttlMs, renewEveryMs, giveUpAfterMs, attemptTimeoutMs };
}

/**
 * So long after a request of that ttl was sent the store has not given the name away yet, whatever their two clocks do
 * within bounds.
 */
export function latestGiveUpMs(ttlMs: number): number {
  return ttlMs * (1 - driftShare) - marginMs;
}

/** As {@link resolveTiming}, and a ttl that the store grants. @throws {OptionError} */
export function grantedTiming(
  timing: LeaseTiming,
  { smallestTtlMs, largestTtlMs, store }: CoordinatorPromises,
): ResolvedTiming {
  const granted = resolved(timing);
  if (granted.ttlMs >= smallestTtlMs && granted.ttlMs <= largestTtlMs) return granted;
  throw new OptionError(
    'ttlMs',
    granted.ttlMs,
    `is not granted by ${store}`,
    `use ${smallestTtlMs} to ${largestTtlMs} milliseconds`,
  );
}

/**
 * The timing of one acquisition: `base` itself if it asks for nothing else. A ttl of its own brings its own defaults;
 * anything else refines `base`. @throws {OptionError}
 */
export function refineTiming(
  base: ResolvedTiming,
  { ttlMs, renewEveryMs, giveUpAfterMs, attemptTimeoutMs }: LeaseTiming,
  promises: CoordinatorPromises,
): ResolvedTiming {
  const asked = [ttlMs, renewEveryMs, giveUpAfterMs, attemptTimeoutMs];
  if (asked.every((one) => one === undefined)) return base;
  const own = {
    ...(ttlMs === undefined ? base : { ttlMs }),
    ...(renewEveryMs !== undefined && { renewEveryMs }),
    ...(giveUpAfterMs !== undefined && { giveUpAfterMs }),
    ...(attemptTimeoutMs !== undefined && { attemptTimeoutMs }),
  };
  return grantedTiming(own, promises);
}

function duration(option: string, value: number): void {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return;
  throw new OptionError(
    option,
    value,
    'is not a duration',
    'use a positive number of milliseconds',
  );
}

/** @throws {OptionError} before anything is given away. */
export function validateHandoff(to: string, reserveMs: number): void {
  validateHolderId(to, 'to');
  if (typeof reserveMs === 'number' && reserveMs >= 1 && reserveMs <= longestTtlMs) return;
  throw new OptionError(
    'reserveMs',
    reserveMs,
    'is out of range',
    `use 1 to ${longestTtlMs} milliseconds`,
  );
}

/** Host name and process id, reduced to the characters an id may have. */
export function defaultHolderId(): string {
  const host = hostname()
    .replace(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 96);
  return `${host || 'host'}-${process.pid}`;
}
