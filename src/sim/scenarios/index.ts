import { election } from './election.js';
import { jobs } from './jobs.js';
import { leases } from './leases.js';
import { once } from './once.js';
import type { Scenario } from './scenario.js';
import { streams } from './streams.js';

/** All of them; which one a seed plays is drawn, or chosen. */
export const scenarios: readonly Scenario[] = [election, leases, streams, jobs, once];
