import { requireArray, requireKnown } from '../../errors/checks.js';
import { OptionError } from '../../errors/index.js';
import { resolveTiming } from '../../leases/index.js';
import type { TtlSample } from './sample.js';
import { type Tail, tailOf, tooLong } from './tail.js';

export interface TtlWish {
  /** A lease may be lost for nothing once in so many milliseconds. 1,000 and above; default 30 days. */
  readonly onceInMs?: number;
  /** The shortest ttl that the store grants, in milliseconds. Default 100. */
  readonly smallestTtlMs?: number;
  /** The longest, in milliseconds. Default, and at most: two minutes, since none above is ever advised. */
  readonly largestTtlMs?: number;
}

/** What one ttl would be like. Durations in milliseconds. */
export interface TtlRow {
  readonly ttlMs: number;
  readonly renewEveryMs: number;
  readonly giveUpAfterMs: number;
  readonly attemptTimeoutMs: number;
  /** How often a lease would be lost though its holder lives and the store grants it. */
  readonly lossesPerDay: number;
  /** How long nobody leads after a crash, typically and at worst. */
  readonly takeoverMs: number;
  readonly longestTakeoverMs: number;
  readonly requestsPerHour: number;
}

export interface TtlAdvice {
  /** The smallest that loses as seldom as is wanted; `undefined` if none in the table does. */
  readonly ttlMs: number | undefined;
  readonly onceInMs: number;
  readonly rows: readonly TtlRow[];
  /** For how long it was looked in all. What is rarer was not seen. */
  readonly seenForMs: number;
  /** Requests that had no answer meanwhile. An outage counts as a pause like any other: if it was one that is over, measure again. */
  readonly failedCount: number;
  readonly usualRoundTripMs: number;
  readonly slowRoundTripMs: number;
  readonly longestRoundTripMs: number;
  readonly longestPauseMs: number;
}

const dayMs = 24 * 3_600_000;
/** A renewal is tried this often, at least, between the moment it is due and the deadline. */
const tries = 3;
/** Who waits asks so long after the end of a ttl at the latest. */
const jitterMs = 25;
const usualJitterMs = 15;

/**
 * The smallest ttl that loses a lease for nothing no more often than is wanted, and what each would cost. Pure.
 *
 * A lease survives a pause that ends before `giveUpAfterMs` has passed since its last renewal, which was sent at any
 * moment of `renewEveryMs` before. And it survives slow answers unless three attempts in a row are too slow. Both are
 * counted in the samples, and continued beyond them as an exponential.
 *
 * @throws {OptionError} if there is no sample, or for a bad wish.
 */
export function adviseTtl(samples: readonly TtlSample[], wish: TtlWish = {}): TtlAdvice {
  requireArray('samples', samples, 'pass a list of samples');
  const known = { onceInMs: true, smallestTtlMs: true, largestTtlMs: true } as const;
  const { onceInMs = 30 * dayMs } = requireKnown('wish', wish, known);
  if (!(Number.isFinite(onceInMs) && onceInMs >= 1_000))
    throw new OptionError('onceInMs', onceInMs, 'is out of range', 'use 1000 ms and above');
  for (const sample of samples) requireSample(sample);
  const seen = samples.map(seenIn);
  if (seen.length === 0 || seen.some(({ forMs }) => !(forMs > 0)))
    throw new OptionError('samples', samples.length, 'tell of no time', 'measure for some seconds');
  const trips = samples.flatMap(({ roundTripsMs }) => roundTripsMs).sort((a, b) => a - b);
  const slowRoundTripMs = at(trips, 0.99);
  const rows = ttlsBetween(wish).map((ttlMs) => rowOf(ttlMs, seen, slowRoundTripMs));
  return {
    ttlMs: rows.find(({ lossesPerDay }) => lossesPerDay <= dayMs / onceInMs)?.ttlMs,
    onceInMs,
    rows,
    seenForMs: samples.reduce((sum, { forMs }) => sum + forMs, 0),
    failedCount: samples.reduce((sum, { failedCount }) => sum + failedCount, 0),
    usualRoundTripMs: at(trips, 0.5),
    slowRoundTripMs,
    longestRoundTripMs: at(trips, 1),
    longestPauseMs: Math.max(0, ...samples.flatMap(({ pausesMs }) => pausesMs)),
  };
}

/** @throws {OptionError} */
function requireSample(sample: TtlSample): void {
  const remedy = 'pass what measureForTtl or recordedSample returns';
  const { roundTripsMs, failedCount, pausesMs } = Object(sample) as TtlSample;
  requireArray('samples.roundTripsMs', roundTripsMs, remedy);
  requireArray('samples.pausesMs', pausesMs, remedy);
  if (!Number.isFinite(failedCount))
    throw new OptionError('samples.failedCount', failedCount, 'is no number', remedy);
}

interface Seen {
  readonly forMs: number;
  readonly trips: Tail;
  readonly failedShare: number;
  readonly pauses: Tail;
}

function seenIn({ forMs, roundTripsMs, failedCount, pausesMs }: TtlSample): Seen {
  const asked = roundTripsMs.length + failedCount;
  const failedShare = asked === 0 ? 0 : failedCount / asked;
  return { forMs, trips: tailOf(roundTripsMs), failedShare, pauses: tailOf(pausesMs) };
}

function rowOf(ttlMs: number, seen: readonly Seen[], tripMs: number): TtlRow {
  const { renewEveryMs, giveUpAfterMs, attemptTimeoutMs } = resolveTiming({ ttlMs });
  const slackMs = Math.max(0, giveUpAfterMs - renewEveryMs - tripMs);
  let lossesPerDay = 0;
  for (const { forMs, trips, failedShare, pauses } of seen) {
    lossesPerDay += (tooLong(pauses, slackMs, renewEveryMs) * dayMs) / forMs;
    const slow = tooLong(trips, attemptTimeoutMs, 1) / Math.max(1, trips.values.length);
    const share = Math.min(1, failedShare + slow);
    lossesPerDay += (share ** tries * dayMs) / renewEveryMs / seen.length;
  }
  return {
    ttlMs,
    renewEveryMs: Math.round(renewEveryMs),
    giveUpAfterMs: Math.round(giveUpAfterMs),
    attemptTimeoutMs: Math.round(attemptTimeoutMs),
    lossesPerDay,
    takeoverMs: Math.round((ttlMs * 5) / 6 + usualJitterMs + 2 * tripMs),
    longestTakeoverMs: Math.round(ttlMs + jitterMs + 2 * tripMs),
    requestsPerHour: Math.round(3_600_000 / renewEveryMs),
  };
}

/** The figures that people write. */
const steps = [1, 1.5, 2, 3, 4, 5, 6, 8];
const longestUsefulMs = 120_000;

function ttlsBetween({ smallestTtlMs = 100, largestTtlMs = longestUsefulMs }: TtlWish): number[] {
  const ttls = [100, 1_000, 10_000, 100_000].flatMap((unit) => steps.map((step) => step * unit));
  const all = [...ttls, 120_000, smallestTtlMs].sort((a, b) => a - b);
  return [...new Set(all)].filter(
    (ttlMs) => ttlMs >= smallestTtlMs && ttlMs <= Math.min(largestTtlMs, longestUsefulMs),
  );
}

function at(sorted: readonly number[], share: number): number {
  return Math.round((sorted[Math.floor((sorted.length - 1) * share)] ?? 0) * 10) / 10;
}
