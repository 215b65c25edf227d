import { afterAll, beforeAll } from 'vitest';
import { registerCoordinatorConformance } from '../../src/testing.js';
import { concurrentCases } from '../support/concurrent-cases.js';
import { type RedisServer, startRedis } from '../support/servers/index.js';
import { redisTarget, singlePlace } from './redis-target.js';

let server: RedisServer;

beforeAll(async () => {
  server = await startRedis({ appendonly: 'always', clock: true });
});
afterAll(() => server.stop());

registerCoordinatorConformance(
  redisTarget('redis', () => singlePlace(server)),
  concurrentCases(),
);
