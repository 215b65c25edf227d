import { afterAll, beforeAll, describe, it } from 'vitest';
import { registerCoordinatorConformance } from '../../src/testing.js';
import { type RedisServer, startRedis } from '../support/servers/index.js';
import { redisTarget } from './redis-target.js';

let server: RedisServer;

beforeAll(async () => {
  server = await startRedis({ appendonly: 'always', clock: true });
});
afterAll(() => server.stop());

registerCoordinatorConformance(
  redisTarget('redis', () => server),
  { describe, it },
);
