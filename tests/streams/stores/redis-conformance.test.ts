import { afterAll, beforeAll, describe, it } from 'vitest';
import { registerStreamConformance } from '../../../src/streams/conformance/index.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';
import { redisStreamTarget } from './redis-target.js';

let server: RedisServer;

beforeAll(async () => {
  server = await startRedis({ appendonly: 'always' });
});
afterAll(() => server.stop());

registerStreamConformance(
  redisStreamTarget('redis', () => server),
  { describe, it },
);
