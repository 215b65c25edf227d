import { afterAll, beforeAll } from 'vitest';
import { registerCoordinatorConformance } from '../../src/testing.js';
import { concurrentCases } from '../support/concurrent-cases.js';
import { type RedisQuorumServers, startRedisQuorum } from '../support/servers/redis-quorum.js';
import { redisQuorumTarget } from './redis-quorum-target.js';

let servers: RedisQuorumServers;

beforeAll(async () => {
  servers = await startRedisQuorum(5, { appendonly: 'everysec', clock: true });
});
afterAll(() => servers.stop());

/** They keep the machine busy, so that others would see its delays and not the store's; or they would see those of others. */
const alone = [
  'batches/',
  'grants/race:',
  'terms/contended:',
  'documents/',
  'history/bounded:',
  'suspensions/race:',
  'records/renewed-at:',
];

registerCoordinatorConformance(
  redisQuorumTarget('redis quorum', () => servers),
  concurrentCases({ alone }),
);
