import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Holder } from '../../../src/coordinators/index.js';
import { registerBatchFenceConformance } from '../../../src/fences/conformance/index.js';
import { redisFence } from '../../../src/fences/redis/index.js';
import { realRuntime } from '../../../src/time/index.js';
import { documentedRights, documentedUser } from '../../support/documented-rights.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';
import { redisSubject } from './subject.js';

let server: RedisServer;
let admin: Redis;
let url: string;

beforeAll(async () => {
  server = await startRedis({ appendonly: 'always' });
  admin = new Redis(server.url);
  for (const [command = '', ...words] of documentedUser('secret', ['fence']))
    await admin.call(command, ...words);
  url = server.url.replace('//', '//tenure:secret@');
});
afterAll(async () => {
  admin?.disconnect();
  await server?.stop();
});

/* What the suite writes lies beside the terms of the fence, and is written with a command that leases need too. */
registerBatchFenceConformance(
  'the Redis fence, with the rights that docs/protocol.md lists and no others,',
  async () => redisSubject(url, admin),
  { describe, it },
);

/** A first write, an effect and a second write, whose keys have to be of a type; then several commands without an effect. */
async function isWorking(): Promise<boolean> {
  await admin.flushall();
  await admin.script('FLUSH');
  const fence = redisFence(url);
  const token = { name: 'ledger', term: 1, holder: Holder.create('w', realRuntime) };
  try {
    for (const seq of [1, 2])
      await fence.transaction(token, async (batch) => {
        await fence.recordOnce(batch, 'orders', 'a', seq, `id-${seq}`);
        batch.command('HSET', `${fence.hashTag}:data`, 'a', `${seq}`);
        batch.command('RPUSH', `${fence.hashTag}:log`, `${seq}`);
      });
    await fence.transaction(token, async (batch) => {
      batch.command('HSET', `${fence.hashTag}:data`, 'a', '3');
      batch.command('HSET', `${fence.hashTag}:data`, 'b', '3');
    });
    return true;
  } catch {
    return false;
  } finally {
    await fence.close();
  }
}

describe('of the rights for the fence', () => {
  it('each is needed', async () => {
    expect(await isWorking()).toBe(true);
    const words = documentedRights('fence').split(' ');
    const commands = words.filter((word) => word.startsWith('+'));
    expect(commands).not.toEqual([]);
    for (const right of commands) {
      await admin.call('ACL', 'SETUSER', 'tenure', `-${right.slice(1)}`);
      expect(await isWorking(), right).toBe(false);
      await admin.call('ACL', 'SETUSER', 'tenure', right);
    }
    await admin.call('ACL', 'SETUSER', 'tenure', 'resetkeys', '~{tenure:*');
    expect(await isWorking()).toBe(false);
  });
});
