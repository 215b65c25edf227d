import { describe, it } from 'vitest';
import { registerCoordinatorConformance } from '../../src/testing.js';
import { sqliteTarget } from './sqlite-target.js';

registerCoordinatorConformance(sqliteTarget(), { describe, it });
