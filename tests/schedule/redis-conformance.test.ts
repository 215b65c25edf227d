import { describe, inject, it } from 'vitest';
import { registerJobStoreConformance } from '../../src/testing.js';
import { redisTarget } from './redis-target.js';

const target = redisTarget('redis', () => inject('redisUrl'));
registerJobStoreConformance(target, { describe: describe.concurrent, it });
