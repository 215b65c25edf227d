import { describe, it } from 'vitest';
import { registerStreamConformance } from '../../../src/streams/conformance/index.js';
import { memoryStreamTarget } from './memory-target.js';

registerStreamConformance(memoryStreamTarget(), { describe, it });
