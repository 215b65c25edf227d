import type { CoordinatorPromises } from '../contract.js';

/** What ZooKeeper grants with its usual tick of 2 s: 2 to 20 of them. */
export const usualSessionMs = { smallest: 4_000, largest: 40_000 } as const;

/** What an ensemble can promise that grants session time-outs within these limits; see `docs/protocol.md`. */
export function zookeeperPromises(
  smallestTtlMs: number,
  largestTtlMs: number,
): CoordinatorPromises {
  return {
    store: 'zookeeper',
    scope: 'network',
    exclusion:
      'Exclusive in the view of the ensemble, which needs a majority of its members; a holder that cannot reach it stops by its own clock, and one that is paused may believe too long: fence it.',
    // A namespace that is made anew begins at the clock, far above where the transactions since then can have led.
    termsSurvive: ['restart-with-data', 'restart-without-data', 'deleted-record'],
    expiryClock: 'server-monotonic',
    waking:
      'The first three who wait watch the name, and hear of a release and of an expired session as it happens; each of the others watches the one before it alone.',
    smallestTtlMs,
    largestTtlMs,
  };
}
