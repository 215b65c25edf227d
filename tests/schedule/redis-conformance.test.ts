import { describe, inject, it } from 'vitest';
import { registerJobStoreConformance } from '../../src/testing.js';
import { redisTarget } from './redis-target.js';

const url = () => inject('redisUrl');
const target = redisTarget('redis', url, async () => url());
registerJobStoreConformance(target, { describe: describe.concurrent, it });
