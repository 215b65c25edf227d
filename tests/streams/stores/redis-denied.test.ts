import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Holder } from '../../../src/coordinators/index.js';
import { OutcomeUnknownError, StoreMisconfiguredError } from '../../../src/errors/index.js';
import { type RedisStreams, redisStreams } from '../../../src/streams/redis/index.js';
import { realRuntime } from '../../../src/time/index.js';
import { call } from '../../support/call.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';

/** A user who may not do all that a script does. */

const prefix = '{tenure:default:orders:s0}';
const message = { shard: 0, key: 'a', id: 'x', payload: '1' };
let server: RedisServer;
let admin: Redis;

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.url);
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});
beforeEach(() => admin.flushall());

async function as<T>(rights: string, use: (store: RedisStreams) => Promise<T>): Promise<T> {
  const rules = rights.split(' ');
  await admin.call('ACL', 'SETUSER', 'poor', 'reset', 'on', '>secret', '~*', '&*', ...rules);
  const url = server.url.replace('//', '//poor:secret@');
  const store = redisStreams(url, { topic: 'orders' });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

function owner() {
  return { name: 'orders/shards/0', term: 1, holder: Holder.create('w', realRuntime) };
}

describe('a right that is missing', () => {
  it.each(['xadd', 'hset', 'set'])('leaves nothing of a publish behind: %s', async (command) => {
    await as(`+@all -${command}`, async (store) => {
      const refused = store.publish([message], call);
      await expect(refused).rejects.toThrow(StoreMisconfiguredError);
      await expect(refused).rejects.toThrow('docs/protocol.md');
    });
    await as('+@all', async (store) => {
      expect(await store.publish([message], call)).toEqual([{ outcome: 'appended', seq: 1 }]);
      const second = { ...message, id: 'y' };
      expect(await store.publish([second, message], call)).toEqual([
        { outcome: 'appended', seq: 2 },
        { outcome: 'duplicate', seq: 1 },
      ]);
    });
    expect(await admin.xlen(`${prefix}:log`)).toBe(2);
  });

  it('leaves an id that counts as never accepted, even before it is gone', async () => {
    await admin.set(`${prefix}:id:a:x`, '');
    await as('+@all', async (store) => {
      await store.seal(0, 'a', 1, call);
      expect(await store.publish([message], call)).toEqual([{ outcome: 'moved' }]);
      await store.open(0, 'a', 0, 1, call);
      expect(await store.publish([message], call)).toEqual([{ outcome: 'appended', seq: 1 }]);
      expect(await store.publish([message], call)).toEqual([{ outcome: 'duplicate', seq: 1 }]);
    });
  });

  it('keeps the version of a key that was moved', async () => {
    await as('+@all', (store) => store.open(0, 'a', 4, 9, call));
    await as('+@all -xadd', (store) =>
      expect(store.publish([message], call)).rejects.toThrow(StoreMisconfiguredError),
    );
    expect(await admin.hget(`${prefix}:keys`, 'a')).toBe('4|9');
  });

  it('is not called a clean failure once messages were appended', async () => {
    // The right to append to one shard only: what came before the refusal stays.
    const rules = ['+@all', '-xadd', `(+xadd ~${prefix}:*)`];
    await admin.call('ACL', 'SETUSER', 'poor', 'reset', 'on', '>secret', '~*', '&*', ...rules);
    const store = redisStreams(server.url.replace('//', '//poor:secret@'), { topic: 'orders' });
    const partly = store.publish([message, { ...message, shard: 1 }], call);
    await expect(partly).rejects.toThrow(OutcomeUnknownError);
    await expect(partly).rejects.toThrow(/in part.*docs\/protocol\.md/);
    expect(await admin.xlen(`${prefix}:log`)).toBe(1);
    expect(await admin.hget('{tenure:default:orders:s1}:keys', 'a')).toBe('0');
    await store.close();
  });

  it.each(['xdel', 'xrange', 'get', 'set'])(
    'is not taken for a foreign value: %s',
    async (command) => {
      const token = owner();
      const request = { shard: 0, token, acknowledge: ['1-1'], after: undefined, limit: 1 };
      await as('+@all', (store) => store.install([{ shard: 0, token }], call));
      await as(`+@all -${command}`, async (store) => {
        const used =
          command === 'set'
            ? store.install([{ shard: 0, token: { ...owner(), term: 2 } }], call)
            : store.step([request], call);
        await expect(used).rejects.toThrow(StoreMisconfiguredError);
      });
    },
  );
});
