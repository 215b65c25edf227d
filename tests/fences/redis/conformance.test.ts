import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { registerBatchFenceConformance } from '../../../src/fences/conformance/index.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';
import { redisSubject } from './subject.js';

let server: RedisServer;
let user: Redis;

beforeAll(async () => {
  server = await startRedis();
  user = new Redis(server.url);
  user.on('error', () => {});
});

afterAll(async () => {
  user?.disconnect();
  await server?.stop();
});

registerBatchFenceConformance('the Redis fence', async () => redisSubject(server.url, user), {
  describe: describe.concurrent,
  it,
});
