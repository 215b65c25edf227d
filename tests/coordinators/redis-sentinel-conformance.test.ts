import { afterAll, beforeAll } from 'vitest';
import { promisesOf } from '../../src/coordinators/redis/promises.js';
import { registerCoordinatorConformance } from '../../src/testing.js';
import { concurrentCases } from '../support/concurrent-cases.js';
import { type RedisSentinels, startRedisSentinels } from '../support/servers/index.js';
import { impossibleWithSentinels, sentinelPlace } from './redis-failover-places.js';
import { type RedisPlace, redisTarget } from './redis-target.js';

let set: RedisSentinels;
let place: RedisPlace;

beforeAll(async () => {
  // No failover but those that a case asks for.
  set = await startRedisSentinels({ downAfterMs: 60_000, server: { appendonly: 'always' } });
  place = sentinelPlace(set);
});
afterAll(() => set.stop());

registerCoordinatorConformance(
  redisTarget('redis-sentinel', () => place, {
    promises: promisesOf('sentinel', 0),
    impossible: impossibleWithSentinels,
  }),
  concurrentCases(),
);
