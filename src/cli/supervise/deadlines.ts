import type { EndReason, ResolvedTiming } from '../../leases/index.js';
import { latestGiveUpMs } from '../../leases/options.js';
import { type KernelTime, later } from './kernel-time.js';

/*
 * When a child is told to stop and when it is killed, as pure functions of the lease's times.
 *
 *   send of the last good renewal                                          the store may give the name away
 *   |------------------------------- ttl -------------------------------------------|
 *   |----- giveUpAfterMs -----| TERM            | KILL                    |  margin  |
 *                             |--- 3 quarters --|-- 1 quarter, at most 1 s --|
 */

/** When a group is asked to stop, and when it is stopped, if nobody says otherwise before. */
export interface StopTimes {
  readonly termAt: KernelTime;
  readonly killAt: KernelTime;
}

/** Dying takes time: a signal has to be delivered, memory to be given back. This share of the last stretch, */
const dyingShare = 0.25;
/** but no more than this: what a machine cannot do in a second, it cannot do in ten. */
const longestDyingMs = 1_000;

/** How long after the send of the last good renewal the group is killed. Between `giveUpAfterMs` and the ttl. */
export function killAfterMs(timing: ResolvedTiming): number {
  return timing.giveUpAfterMs + lastStretchMs(timing) - dyingMs(timing);
}

/** From giving up to the last moment at which the store surely keeps the name for us. */
function lastStretchMs({ ttlMs, giveUpAfterMs }: ResolvedTiming): number {
  return Math.max(0, latestGiveUpMs(ttlMs) - giveUpAfterMs);
}

function dyingMs(timing: ResolvedTiming): number {
  return Math.min(longestDyingMs, lastStretchMs(timing) * dyingShare);
}

/** @param remainingMs how long from `now` the lease still counts as held: `lease.remainingMs`. */
export function stopTimes(now: KernelTime, remainingMs: number, timing: ResolvedTiming): StopTimes {
  const graceMs = killAfterMs(timing) - timing.giveUpAfterMs;
  return { termAt: later(now, remainingMs), killAt: later(now, remainingMs + graceMs) };
}

/**
 * When the watchdog steps in for a wrapper that does not move: a little after the wrapper would have, so that a child is
 * not told twice; some take a second SIGTERM for impatience. Still in time.
 */
export function watchdogTimes({ termAt, killAt }: StopTimes, timing: ResolvedTiming): StopTimes {
  return {
    termAt: later(termAt, lastStretchMs(timing) / 4),
    killAt: later(killAt, dyingMs(timing) / 2),
  };
}

/** Somebody else may own the name already, so there is no time to stop in. */
const ownedByOthers: readonly EndReason[] = ['superseded', 'vanished'];

/** When the group of a lost lease is killed. @param killAt as of the last renewal. */
export function killTimeAfterLoss(
  reason: EndReason,
  killAt: KernelTime,
  now: KernelTime,
): KernelTime {
  return ownedByOthers.includes(reason) ? now : killAt;
}
