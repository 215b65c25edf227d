import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { encodeName } from '../../src/coordinators/index.js';
import { registerOnceConformance } from '../../src/once/conformance/index.js';
import { redisOnce } from '../../src/once/redis/index.js';
import { OnceKeys } from '../../src/once/redis/keys.js';
import { FaultProxy } from '../support/proxy.js';
import { type RedisServer, startRedis } from '../support/servers/index.js';
import { proxiedSubject } from './proxied.js';

const protocol = new URL('../../docs/protocol.md', import.meta.url);
const rights = /^ACL SETUSER once .*$/m.exec(readFileSync(protocol, 'utf8'))?.[0] ?? '';

let server: RedisServer;
let user: Redis;
beforeAll(async () => {
  server = await startRedis();
  user = new Redis(server.url);
  const [command = '', ...words] = rights.replace('PASSWORD', 'secret').split(' ');
  await user.call(command, ...words);
});
afterAll(async () => {
  user?.disconnect();
  await server?.stop();
});

let namespaceCount = 0;

registerOnceConformance(
  {
    name: 'redis, with the rights that docs/protocol.md lists',
    impossible: {},
    create: async () => {
      namespaceCount += 1;
      const namespace = `case-${namespaceCount}`;
      const proxy = await FaultProxy.start(server.port);
      const store = redisOnce(`redis://once:secret@127.0.0.1:${proxy.port}`, { namespace });
      const keys = new OnceKeys(namespace);
      const other = redisOnce(server.url.replace('//', '//once:secret@'), { namespace });
      return proxiedSubject(store, other, proxy, {
        expire: async (key) => {
          await user.pexpireat(keys.record(key), 1);
        },
        setBack: async (key, durationMs) => {
          const record = keys.record(key);
          for (const field of ['started', 'deadline', 'expires'])
            await user.hincrby(record, field, durationMs);
          await user.zincrby(keys.open, durationMs, encodeName(key));
          await user.pexpireat(record, `${await user.hget(record, 'expires')}`);
        },
      });
    },
  },
  { describe: describe.concurrent, it },
);
