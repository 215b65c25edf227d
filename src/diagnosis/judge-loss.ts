import type { LossEvidence, ThreadTime } from '../elections/index.js';
import { counted, sayMs } from '../errors/say.js';
import type { Cause } from './cause.js';
import type { Ending } from './facts.js';
import type { Verdict } from './verdict.js';

/*
 * What a holder saw when it lost its lease, most telling first. What the store said is certain. That it said nothing is
 * not: a process that stands still, or waits for a processor, hears no answer either, so that comes before the network.
 */

/** A thread that could run for less of the time than this, and waited for more than that, was starved. */
const starvedRanShare = 0.1;
const starvedWaitedShare = 0.4;
/** Round trips of this share of the time an attempt has leave no room for a slow one. */
const tightShare = 0.2;
/** An answer that took so many times as long as usual was slow. */
const slowFactor = 5;

export function judgeLoss(loss: LossEvidence, ending: Ending): Verdict {
  return (
    judgeDecision(loss, ending) ??
    judgeClock(loss, ending) ??
    judgeRecord(loss) ??
    judgeStoreWords(loss) ??
    judgeMachine(loss) ??
    judgeRoundTrips(loss) ??
    silence(loss)
  );
}

function judgeDecision(
  { reason, installedTerm, term }: LossEvidence,
  { isSuccessorKnown }: Ending,
): Verdict | undefined {
  if (reason === 'revoked') return verdict('operator', 'it was revoked');
  if (reason === 'max-hold') return verdict('max-hold', 'it was held as long as is allowed');
  if (reason === 'shutdown')
    return verdict('work-overdue', 'the work went on after it was told to stop');
  // A successor that the store granted, and that wrote already: why it was granted is the question then.
  if (installedTerm === undefined || isSuccessorKnown) return undefined;
  return verdict(
    'terms-lost',
    `a resource refused term ${term}: it had seen ${installedTerm}, which the store has forgotten`,
  );
}

/** The store let a lease expire that had been renewed a moment before, by any clock that was not set. */
function judgeClock(loss: LossEvidence, { storeReason }: Ending): Verdict | undefined {
  const { sinceRenewedMs, ttlMs, store } = loss;
  if (!isGone(loss) || storeReason !== 'expired' || sinceRenewedMs >= ttlMs * 0.9) return undefined;
  if (hasOwnClock(store)) return undefined;
  return verdict(
    'clock-stepped',
    `the store let the lease expire ${sayMs(sinceRenewedMs)} after a renewal, with a ttl of ${sayMs(ttlMs)}: its clock was set forward`,
  );
}

function judgeMachine(loss: LossEvidence): Verdict | undefined {
  const { machine, giveUpAfterMs, renewEveryMs, reason } = loss;
  const { all, longestStall, suspendedMs, overMs } = machine;
  const most = giveUpAfterMs - renewEveryMs;
  if (suspendedMs >= most / 2)
    return verdict('process-paused', `the machine was suspended for ${sayMs(suspendedMs)}`);
  if (explains(longestStall.forMs, most, loss.missedCount)) {
    const starved = isStarved(all) ? all : longestStall;
    return isStarved(starved) ? starvedBy(starved) : stalled(longestStall);
  }
  if (reason !== 'expired' && reason !== 'stalled') return undefined;
  return verdict(
    'process-paused',
    `no renewal was sent for ${sayMs(overMs)}, and nothing had failed before`,
  );
}

/** A stall as long as all renewals had is enough by itself; of half of that, only if not much else went wrong. */
function explains(stallMs: number, mostMs: number, missedCount: number): boolean {
  return stallMs >= mostMs || (stallMs >= mostMs / 2 && missedCount <= 1);
}

function isStarved({ forMs, ranMs = 0, waitedMs = 0, throttledMs = 0 }: ThreadTime): boolean {
  const mostMs = forMs * starvedWaitedShare;
  return throttledMs >= mostMs || (waitedMs >= mostMs && ranMs < forMs * starvedRanShare);
}

function starvedBy({ forMs, ranMs = 0, waitedMs = 0, throttledMs = 0 }: ThreadTime): Verdict {
  const isQuota = throttledMs >= forMs * starvedWaitedShare;
  const how = isQuota
    ? `its group was out of processor time for ${sayMs(throttledMs)}`
    : `it waited for a processor for ${sayMs(waitedMs)}`;
  return verdict('cpu-starved', `of ${sayMs(forMs)}, ${how}, and ran for ${sayMs(ranMs)}`);
}

function stalled({ forMs, ranMs, waitedMs = 0 }: ThreadTime): Verdict {
  const stood = `the event loop stood still for ${sayMs(forMs)}`;
  if (ranMs === undefined)
    return verdict(
      'process-paused',
      `${stood}; what of that it computed, this system does not tell`,
    );
  if (ranMs >= forMs * starvedRanShare)
    return verdict('loop-blocked', `${stood}, of which it computed for ${sayMs(ranMs)}`);
  return verdict(
    'process-paused',
    `${stood} without computing (${sayMs(ranMs)}) or waiting for a processor (${sayMs(waitedMs)})`,
  );
}

/** The record went before its time. */
function judgeRecord(loss: LossEvidence): Verdict | undefined {
  const { sinceRenewedMs, ttlMs, errors, store, reason } = loss;
  if (!isGone(loss) || sinceRenewedMs >= ttlMs) return undefined;
  const gone = `its record was ${reason === 'vanished' ? 'gone' : "somebody else's"} ${sayMs(sinceRenewedMs)} after a renewal`;
  const isAnotherServer = errors.replica !== undefined;
  const broke = hasBroken(loss);
  if (isAnotherServer || (broke && isReplicated(store)))
    return verdict('failover', `${gone}, when another server had taken over without it`);
  if (broke || errors.loading !== undefined)
    return verdict(
      'store-restarted',
      `${gone}, and the connection had broken: the store was restarted without it`,
    );
  const how = tellsRemovals(store) ? 'no renewal had failed' : 'the connection had not broken';
  return verdict('record-removed', `${gone}, and ${how}`);
}

/** Whether something was seen of a server that went, or came back, as far as that can take a record along. */
function hasBroken({ errors, connectionLostCount, missedCount, store }: LossEvidence): boolean {
  if (tellsRemovals(store)) return missedCount > 0;
  if (errors.refused !== undefined || errors.reset !== undefined) return true;
  // A request without an answer gives its connection up by itself: then its loss tells nothing.
  return connectionLostCount > 0 && errors.timeout === undefined;
}

/**
 * Whether a record that is gone is told as a connection that is: so that it is renewed at once. A member of etcd that takes over has
 * all that was granted, so if that renewal was answered, it was not the connection.
 */
function tellsRemovals(store: string): boolean {
  return store === 'etcd';
}

/** One odd answer among many is not why; the same one again is. */
const tellingCount = 2;

function judgeStoreWords(loss: LossEvidence): Verdict | undefined {
  const { errors, store, sinceRenewedMs } = loss;
  const { refused = 0, loading = 0, replica = 0, overloaded = 0 } = errors;
  const { denied = 0, reset = 0, timeout = 0 } = errors;
  const forTime = `for ${sayMs(sinceRenewedMs)}`;
  const isDown = refused + loading >= tellingCount;
  // Where each request tries all servers, one that is refused or reset was so by all of them; silence of others is an election.
  const isMoving = triesAll(store)
    ? isDown && timeout >= tellingCount
    : isReplicated(store) && (isDown || reset >= tellingCount);
  if (replica >= tellingCount || isMoving)
    return verdict('failover', `${forTime} no server took renewals (${kinds(loss)})`);
  if (isDown) {
    const how = loading > 0 ? 'the store was starting' : 'nothing listened at its address';
    return verdict('store-restarted', `${forTime} no renewal succeeded: ${how} (${kinds(loss)})`);
  }
  if (denied >= tellingCount)
    return verdict('store-denies', `${forTime} it refused renewals (${kinds(loss)})`);
  if (overloaded >= tellingCount)
    return verdict(
      'store-overloaded',
      `${forTime} it had no room or time for renewals (${kinds(loss)})`,
    );
  return undefined;
}

/** Of round trips that grew until they no longer fitted, or never quite did. */
function judgeRoundTrips({ renewals, attemptTimeoutMs }: LossEvidence): Verdict | undefined {
  const { quickMs, medianMs, slowMs, largestMs, answeredCount, last } = renewals;
  const limit = `an attempt has ${sayMs(attemptTimeoutMs)}`;
  if (answeredCount >= 3 && quickMs >= attemptTimeoutMs * tightShare) {
    const trips = `round trips took ${sayMs(medianMs)} usually and up to ${sayMs(largestMs)}`;
    return verdict('ttl-too-short', `${trips}, and ${limit}`);
  }
  const slow = last.filter(
    ({ ms, failed }) =>
      failed === undefined && ms >= Math.max(quickMs * slowFactor, attemptTimeoutMs * tightShare),
  );
  if (slow.length === 0) return undefined;
  const grew = `answers came after ${sayMs(Math.max(...slow.map(({ ms }) => ms)))} before it was lost, and usually after ${sayMs(quickMs)}`;
  return verdict('store-overloaded', `${grew}; 99 % took up to ${sayMs(slowMs)}, and ${limit}`);
}

function silence(loss: LossEvidence): Verdict {
  const { renewals, errors, sinceRenewedMs } = loss;
  const broke = (errors.reset ?? 0) > 0;
  const what = broke ? 'the connection broke, and no renewal succeeded' : 'no answer came at all';
  return verdict(
    'network',
    `for ${sayMs(sinceRenewedMs)} ${what} (${kinds(loss)}), where answers took ${sayMs(renewals.quickMs)} before`,
  );
}

function isGone({ reason }: LossEvidence): boolean {
  return reason === 'vanished' || reason === 'superseded';
}

/** Whether another server can take over. */
function isReplicated(store: string): boolean {
  return /^(?:redis-(?:sentinel|cluster|quorum)|etcd|zookeeper)$/.test(store);
}

/** Whether leases end there by a clock that nobody can set. */
function hasOwnClock(store: string): boolean {
  return store === 'etcd' || store === 'zookeeper';
}

/** Whether a request fails only when every server has failed it. */
function triesAll(store: string): boolean {
  return store === 'etcd' || store === 'zookeeper';
}

function kinds({ errors, missedCount }: LossEvidence): string {
  const parts = Object.entries(errors).map(([kind, number]) => `${number} ${kind}`);
  return `${counted(missedCount, 'failed renewal')}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`;
}

function verdict(cause: Cause, because: string): Verdict {
  return { cause, because };
}
