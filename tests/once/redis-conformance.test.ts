import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { registerOnceConformance } from '../../src/once/conformance/index.js';
import { redisOnce } from '../../src/once/redis/index.js';
import { OnceKeys } from '../../src/once/redis/keys.js';
import { FaultProxy } from '../support/proxy.js';
import { type RedisServer, startRedis } from '../support/servers/index.js';
import { proxiedSubject } from './proxied.js';

let server: RedisServer;
let user: Redis;
beforeAll(async () => {
  server = await startRedis();
  user = new Redis(server.url);
});
afterAll(async () => {
  user?.disconnect();
  await server?.stop();
});

let namespaceCount = 0;

registerOnceConformance(
  {
    name: 'redis',
    impossible: {},
    create: async () => {
      namespaceCount += 1;
      const namespace = `case-${namespaceCount}`;
      const proxy = await FaultProxy.start(server.port);
      const store = redisOnce(`redis://127.0.0.1:${proxy.port}`, { namespace });
      const keys = new OnceKeys(namespace);
      return proxiedSubject(store, redisOnce(server.url, { namespace }), proxy, async (key) => {
        await user.pexpireat(keys.record(key), 1);
      });
    },
  },
  { describe: describe.concurrent, it },
);
