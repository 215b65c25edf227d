import type { Topology } from '../../drivers/redis/index.js';
import { type CoordinatorPromises, longestTtlMs } from '../contract.js';

/** What one Redis server can promise; see `docs/protocol.md` for the reasons. */
export const redisPromises: CoordinatorPromises = {
  store: 'redis',
  scope: 'network',
  exclusion:
    'Exclusive while the server keeps its data and its clock does not jump; else two may overlap, with different terms: fence it.',
  // The server's clock is a floor under every term, so a server that forgot all of them still grants a higher one.
  termsSurvive: ['restart-with-data', 'restart-without-data', 'deleted-record'],
  expiryClock: 'server-wall',
  waking:
    'A release or handoff calls the first three who wait, for one message each; of an expiry nobody is told: who waits knows its deadline, and asks then.',
  smallestTtlMs: 100,
  largestTtlMs: longestTtlMs,
};

const forgetful =
  'Best effort: a failover may forget the last grants, so that two hold a name for a while, with different terms: fence it, or use it for work that may run twice.';

const confirmed = (replicas: number) =>
  `Best effort: what ${replicas === 1 ? 'one replica has' : `${replicas} replicas have`} is confirmed, and a failover to another one may still forget it, or a master that is cut off go on for a while; then two hold a name, with different terms: fence it.`;

/**
 * What is promised where a replica may become the master.
 *
 * The clock of the new master is the floor under its terms, as it is after a loss of data: they rise as long as it is not
 * behind that of the old one by more than the failover took.
 */
export function promisesOf(topology: Topology, replicas: number): CoordinatorPromises {
  if (topology === 'single') return redisPromises;
  return {
    ...redisPromises,
    store: `redis-${topology}`,
    exclusion: replicas > 0 ? confirmed(replicas) : forgetful,
    termsSurvive: [...redisPromises.termsSurvive, 'lost-replica'],
  };
}
