import type { EndResult, NotYours, RenewResult } from '../../contract.js';
import type { Quota } from './records.js';

/*
 * Whether a lease was extended or ended, out of what single nodes did. `undefined`: too few answered to tell.
 */

type Outcome = 'renewed' | 'ended' | NotYours['reason'];

/** What comes first says most: a revoked lease is gone at the nodes that missed something, too. */
const reasons: readonly NotYours['reason'][] = ['revoked', 'superseded', 'vanished'];

/** A lease lasts as long as a majority holds it, so a majority has to extend it. */
export function mergeRenewal(outcomes: readonly Outcome[], quota: Quota): RenewResult | undefined {
  const renewedCount = outcomes.filter((outcome) => outcome === 'renewed').length;
  if (renewedCount >= quota.majority) return { outcome: 'renewed' };
  if (renewedCount + quota.silentCount >= quota.majority) return undefined;
  return refusal(outcomes);
}

/**
 * It was the caller's if a majority may have held it until now; where it is ended, it is in nobody's way.
 *
 * If the name is `reserved` from now on, a majority has to know that: whoever finds a majority that does not, is granted it.
 */
export function mergeEnd(
  outcomes: readonly Outcome[],
  quota: Quota,
  reserved: boolean,
): EndResult | undefined {
  if (outcomes.length < quota.majority) return undefined;
  const endedCount = outcomes.filter((outcome) => outcome === 'ended').length;
  if (endedCount === 0 || endedCount + quota.silentCount < quota.majority) return refusal(outcomes);
  return reserved && endedCount < quota.majority ? undefined : { outcome: 'ended' };
}

/** Whether what the silent nodes may say changes nothing. */
export function isEndCertain(outcomes: readonly Outcome[], quota: Quota): boolean {
  const endedCount = outcomes.filter((outcome) => outcome === 'ended').length;
  const isEnough = outcomes.length >= quota.majority;
  return (
    isEnough && (endedCount >= quota.majority || endedCount + quota.silentCount < quota.majority)
  );
}

function refusal(outcomes: readonly Outcome[]): NotYours {
  const reason = reasons.find((each) => outcomes.includes(each)) ?? 'vanished';
  return { outcome: 'not-yours', reason };
}
