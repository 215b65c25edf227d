import { election } from './election.js';
import type { Scenario } from './scenario.js';

/** All of them; which one a seed plays is drawn, or chosen. */
export const scenarios: readonly Scenario[] = [election];
