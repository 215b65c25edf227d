import { type CoordinatorPromises, longestTtlMs } from '../contract.js';

export const memoryPromises: CoordinatorPromises = {
  store: 'memory',
  scope: 'process',
  exclusion:
    'Exclusive among the clients of one MemoryStore in one process, and forgotten with that process.',
  termsSurvive: ['restart-with-data', 'restart-without-data', 'deleted-record'],
  expiryClock: 'process-monotonic',
  waking:
    'The first three who wait are called the moment a name becomes free, for the price of one timer.',
  smallestTtlMs: 100,
  largestTtlMs: longestTtlMs,
};
