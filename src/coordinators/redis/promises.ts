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
