import type { CoordinatorPromises } from '../contract.js';

/** What a quorum of Redis masters can promise; see `docs/protocol.md` for the reasons. */
export function quorumPromises(largestTtlMs: number): CoordinatorPromises {
  return {
    store: 'redis-quorum',
    scope: 'network',
    exclusion:
      'Exclusive while a majority of the masters keep their data and their clocks neither jump nor run off by more than a hundredth of the ttl; a minority may fail, be stepped or lose everything; beyond that two may overlap, with different terms: fence it.',
    // Every node's clock is a floor under the terms that it gives, so one that forgot all of them still grants a higher one.
    termsSurvive: ['restart-with-data', 'restart-without-data', 'deleted-record'],
    expiryClock: 'server-wall',
    waking:
      'A release or handoff calls the first three who wait, for one message of every master each, of which the first counts; of an expiry nobody is told: who waits knows its deadline, and asks then.',
    smallestTtlMs: 200,
    largestTtlMs,
  };
}
