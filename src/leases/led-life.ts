import { type Instant, isBefore } from '../time/index.js';
import { type EndReason, explanations } from './end-reason.js';
import { type Doubt, isAlive, type LeaseEvent, type LeaseLife, step } from './machine.js';

/** What the thread that renews a lease knows of its life, and the main thread does not. */
export type LedLife = Pick<LeaseLife, 'anchor' | 'doubt' | 'endReason'>;

/**
 * The life as the main thread has to see it, now that it hears what the renewing thread has made of it.
 *
 * That thread keeps the same life by the same rules and clocks, and has ended it if ever a deadline passed before the next
 * renewal: so up to `led.anchor` none has, whatever the older anchor here would say. What happened there counts from when
 * it happened; what happened here stands, above all an end.
 */
export function follow(life: LeaseLife, led: LedLife, now: Instant): LeaseLife {
  if (!isAlive(life)) return life;
  const anchor = isBefore(life.anchor, led.anchor) ? led.anchor : life.anchor;
  if (led.endReason !== undefined)
    return { ...life, anchor, state: 'lost', doubt: undefined, endReason: led.endReason };
  const renewed = step({ ...life, anchor }, { type: 'renewed', sentAt: led.anchor }, now);
  if (led.doubt === undefined || isSameDoubt(led.doubt, renewed.doubt)) return renewed;
  return step(renewed, doubtEvents[led.doubt.cause], led.doubt.since);
}

function isSameDoubt(one: Doubt, other: Doubt | undefined): boolean {
  return one.cause === other?.cause && one.since.monotonicMs === other.since.monotonicMs;
}

const doubtEvents = {
  'renewal-failed': { type: 'renewal-failed' },
  'connection-lost': { type: 'connection-lost' },
  'clock-stepped': { type: 'clock-stepped' },
} as const satisfies Record<Doubt['cause'], LeaseEvent>;

/** For a shared row; 0 stands for none. */
const causes = Object.keys(doubtEvents) as Doubt['cause'][];
const endReasons = Object.keys(explanations) as EndReason[];

export function encodeLife({ anchor, doubt, endReason }: LedLife): number[] {
  const cause = doubt === undefined ? 0 : causes.indexOf(doubt.cause) + 1;
  const reason = endReason === undefined ? 0 : endReasons.indexOf(endReason) + 1;
  return [...encodeInstant(anchor), cause, ...encodeInstant(doubt?.since ?? anchor), reason];
}

export function decodeLife(values: readonly number[]): LedLife {
  const cause = causes[(values[3] ?? 0) - 1];
  return {
    anchor: decodeInstant(values),
    doubt: cause === undefined ? undefined : { cause, since: decodeInstant(values.slice(4)) },
    endReason: endReasons[(values[7] ?? 0) - 1],
  };
}

export function encodeInstant({ monotonicMs, uptimeMs, wallMs }: Instant): number[] {
  return [monotonicMs, uptimeMs, wallMs];
}

export function decodeInstant([
  monotonicMs = 0,
  uptimeMs = 0,
  wallMs = 0,
]: readonly number[]): Instant {
  return { monotonicMs, uptimeMs, wallMs };
}
