import { linearizable } from './linearizable.js';
import type { CoordinatorModel } from './model.js';

/** All of them; which one a seed plays on is drawn, or chosen. */
export const models: readonly CoordinatorModel[] = [linearizable];
