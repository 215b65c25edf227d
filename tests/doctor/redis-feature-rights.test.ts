import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Holder } from '../../src/coordinators/index.js';
import type { Feature } from '../../src/doctor/redis/feature-rights.js';
import { StoreMisconfiguredError } from '../../src/errors/index.js';
import { redisFence } from '../../src/fences/redis/index.js';
import { Once } from '../../src/once/index.js';
import { redisOnce } from '../../src/once/redis/index.js';
import { redisJobs } from '../../src/redis.js';
import { Jobs } from '../../src/schedule/index.js';
import { redisStreams } from '../../src/streams/redis/index.js';
import { realRuntime } from '../../src/time/index.js';
import { call } from '../support/call.js';
import { type RedisServer, startRedis } from '../support/servers/index.js';
import { doctor, doctorText } from './doctor.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const namespace = 'team/a';
const token = { name: 'a/0', term: 1, holder: Holder.create('w', realRuntime) };

/** What each feature does first on a server, as the user of a URL. */
const uses: Readonly<Record<Feature, (url: string) => Promise<unknown>>> = {
  async jobs(url) {
    const store = redisJobs(url, { namespace });
    const act = { by: 'ops', reason: 'test' };
    const definition = { job: 'a', cron: '* * * * *', timeZone: 'UTC', election: 'a/0' };
    try {
      await store.claim(token, [definition], undefined, call);
      await new Jobs(store).pause('a', act);
    } finally {
      await store.close();
    }
  },
  async once(url) {
    const store = redisOnce(url, { namespace });
    try {
      await new Once(store).do('invoice-1', () => 'sent');
    } finally {
      await store.close();
    }
  },
  async fence(url) {
    const fence = redisFence(url, { namespace });
    try {
      await fence.claim(token);
      await fence.transaction(token, async (batch) => {
        await fence.recordOnce(batch, 'orders', 'a', 1, 'id');
        batch.command('HSET', `${fence.hashTag}:data`, 'a', '1');
      });
    } finally {
      await fence.close();
    }
  },
  async streams(url) {
    const store = redisStreams(url, { topic: 'orders', namespace });
    const message = { shard: 0, key: 'a', id: 'x', payload: '{}' };
    const request = { shard: 0, token, after: undefined, limit: 1 };
    try {
      await store.publish([message], call);
      await store.install([{ shard: 0, token }], call);
      const [answer] = await store.step([{ ...request, acknowledge: [] }], call);
      return answer;
    } finally {
      await store.close();
    }
  },
};

describe('what the doctor prints', () => {
  let server: RedisServer;
  let admin: Redis;
  let url: string;

  const command = async (lines: readonly string[]) => {
    for (const line of lines) {
      const [name = '', ...words] = line.replace('PASSWORD', 'secret').split(' ');
      await admin.call(name, ...words);
    }
  };

  beforeAll(async () => {
    server = await startRedis({ appendonly: 'always' });
    admin = new Redis(server.url);
    url = server.url.replace('//', '//tenure:secret@');
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  it.each(Object.keys(uses) as Feature[])(
    'makes a user of leases one of %s, on whom nothing is refused',
    async (feature) => {
      await admin.acl('DELUSER', 'tenure');
      const { leastRights, furtherRights } = await doctor(server.url, '--namespace', namespace);
      await command(leastRights);
      const before = await doctor(url, '--namespace', namespace, '--strict');
      expect(before.status).toBe(0);
      expect(before.find('redis-rights').severity).toBe('ok');
      const { severity, remedy } = before.find(`redis-rights-${feature}`);
      expect(severity).toBe('note');

      const denied = uses[feature](url);
      await expect(denied).rejects.toBeInstanceOf(StoreMisconfiguredError);
      await expect(denied).rejects.toThrow('npx tenure doctor');
      await expect(denied).rejects.toThrow('Leases on Redis: The least rights');

      const lines = furtherRights[feature] ?? [];
      expect(lines.filter((line) => line.length > 78)).toEqual([]);
      await command(lines);
      await uses[feature](url);
      expect((await doctor(url, '--namespace', namespace)).find(`redis-rights-${feature}`)).toEqual(
        expect.objectContaining({ severity: 'ok' }),
      );
      // The remedy of the finding names the same rights.
      const named = /`(ACL SETUSER [^`]*)`/.exec(`${remedy}`)?.[1] ?? '';
      expect(lines.flatMap((line) => line.split(' ').slice(3))).toEqual(named.split(' ').slice(3));
      await admin.flushall();
    },
  );

  it('is printed for people too, a block for each', async () => {
    const { stdout: text } = await doctorText(server.url);
    for (const title of ['And for jobs:', 'And for once:', 'And for the fence', 'And for streams:'])
      expect(text).toContain(title);
    expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });
});
