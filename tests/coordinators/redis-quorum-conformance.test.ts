import { afterAll, beforeAll, describe, it } from 'vitest';
import { registerCoordinatorConformance } from '../../src/testing.js';
import { type RedisQuorumServers, startRedisQuorum } from '../support/servers/redis-quorum.js';
import { redisQuorumTarget } from './redis-quorum-target.js';

let servers: RedisQuorumServers;

beforeAll(async () => {
  servers = await startRedisQuorum(5, { clock: true });
});
afterAll(() => servers.stop());

registerCoordinatorConformance(
  redisQuorumTarget('redis quorum', () => servers),
  { describe, it },
);
