import { describe, it } from 'vitest';
import { registerCoordinatorConformance } from '../../src/testing.js';
import { memoryTarget } from './memory-target.js';

registerCoordinatorConformance(memoryTarget(), { describe, it });
