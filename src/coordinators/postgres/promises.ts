import { type CoordinatorPromises, longestTtlMs } from '../contract.js';

/** What one PostgreSQL primary can promise; see `docs/protocol.md` for the reasons. */
export const postgresPromises: CoordinatorPromises = {
  store: 'postgres',
  scope: 'network',
  exclusion:
    'Exclusive on one primary while it keeps what it committed and its clock does not jump; a fail-over to a standby that is not synchronous may forget a lease, and then two may overlap, with different terms: fence it.',
  // The server's clock is a floor under every term, so an empty, older or promoted database still grants a higher one.
  termsSurvive: ['restart-with-data', 'restart-without-data', 'deleted-record', 'lost-replica'],
  expiryClock: 'server-wall',
  waking:
    'A release or handoff notifies all clients of the namespace in one message, which names the first three who wait; who hears none (behind a transaction pooler, or with a client of your own) asks twice a second. Of an expiry nobody is told: who waits knows its deadline, and asks then.',
  smallestTtlMs: 100,
  largestTtlMs: longestTtlMs,
};
