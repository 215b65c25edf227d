import { type CoordinatorPromises, longestTtlMs } from '../contract.js';

/** What an etcd cluster can promise; see `docs/protocol.md` for the reasons. */
export const etcdPromises: CoordinatorPromises = {
  store: 'etcd',
  scope: 'network',
  exclusion:
    'Exclusive as long as a majority of the members keeps its data, from etcd 3.4.42, 3.5.28 or 3.6.9 on; older ones can end a live lease after a leader was paused, which its holder notices at its next renewal.',
  // A term is the revision that created a key. A new cluster begins with 1, a restored snapshot with an old one.
  termsSurvive: ['restart-with-data', 'deleted-record'],
  expiryClock: 'server-monotonic',
  waking:
    'The first three who wait watch the key of the leader, everybody else the entry of its predecessor: a release, a handoff or an expiry wakes three, as soon as the servers know of it.',
  // Store leases count whole seconds.
  smallestTtlMs: 1000,
  largestTtlMs: longestTtlMs,
};
