import { amnesia } from './amnesia.js';
import { eviction } from './eviction.js';
import { linearizable } from './linearizable.js';
import { lossyFailover } from './lossy-failover.js';
import type { CoordinatorModel } from './model.js';
import { quorum } from './quorum/index.js';
import { staleLeader } from './stale-leader.js';
import { wallClock } from './wall-clock.js';

/** All of them; which one a seed plays on is drawn, or chosen. */
export const models: readonly CoordinatorModel[] = [
  linearizable,
  lossyFailover,
  amnesia,
  eviction,
  wallClock,
  staleLeader,
  quorum,
];
