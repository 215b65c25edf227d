import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Once } from '../../src/once/index.js';
import { redisOnce } from '../../src/once/redis/index.js';
import { OnceKeys } from '../../src/once/redis/keys.js';
import {
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../support/servers/index.js';

const keys = new OnceKeys('default');
const key = 'charge/order-17';

describe('keys in Redis', () => {
  let server: RedisServer;
  let user: Redis;
  let once: Once;
  beforeAll(async () => {
    server = await startRedis();
    user = new Redis(server.url);
    once = new Once(redisOnce(server.url), { id: 'one' });
  });
  afterAll(async () => {
    await once?.close();
    user?.disconnect();
    await server?.stop();
  });

  it('are forgotten by the server, unless their outcome is unknown', async () => {
    await once.do(key, () => 1, { keepMs: 3_600_000 });
    const leftMs = await user.pttl(keys.record(key));
    expect(leftMs).toBeGreaterThan(3_500_000);
    expect(leftMs).toBeLessThanOrEqual(3_600_000);
    await once.do('broken', () => Promise.reject(new Error('broken'))).catch(() => {});
    expect(await user.pttl(keys.record('broken'))).toBe(-1);
    await once.settle('broken', 'not-applied', { by: 'dora', reason: 'looked' });
    expect(await user.pttl(keys.record('broken'))).toBeGreaterThan(0);
    const brief = new Once(redisOnce(server.url), { keepUnknownMs: 3_600_000 });
    await brief.do('brief', () => Promise.reject(new Error('broken'))).catch(() => {});
    expect(await user.pttl(keys.record('brief'))).toBeGreaterThan(3_500_000);
    await brief.close();
  });

  it('have one index of those that are open, from which a list removes what is gone', async () => {
    await once.do('gone', () => Promise.reject(new Error('broken'))).catch(() => {});
    expect(await user.zscore(keys.open, 'gone')).not.toBeNull();
    expect(await user.zscore(keys.open, 'charge%2Forder-17')).toBeNull();
    await user.del(keys.record('gone'));
    const listed = await once.unknown();
    expect(listed.map((record) => record.key)).not.toContain('gone');
    expect(await user.zscore(keys.open, 'gone')).toBeNull();
  });

  it('that somebody else has written are left alone, and their effects are not called', async () => {
    await user.set(keys.record('text'), 'foreign');
    await user.hset(keys.record('hash'), 'some', 'field');
    await user.hset(keys.record('later'), 'version', '2', 'attempt', '1', 'deadline', '1');
    for (const foreign of ['text', 'hash', 'later']) {
      const effect = () => expect.fail('it was called');
      await expect(once.do(foreign, effect)).rejects.toMatchObject({
        ...{
          code: 'TENURE_RECORD_CORRUPT',
          message: expect.stringContaining(keys.record(foreign)),
        },
      });
      await expect(once.read(foreign)).rejects.toMatchObject({ code: 'TENURE_RECORD_CORRUPT' });
    }
    expect(await user.get(keys.record('text'))).toBe('foreign');
    expect(await user.hgetall(keys.record('hash'))).toEqual({ some: 'field' });
  });

  it('that the replicas do not confirm begin nothing', async () => {
    const store = redisOnce(server.url, { replicas: 1, replicaTimeoutMs: 50 });
    const careful = new Once(store, { callTimeoutMs: 1_000 });
    const effect = () => expect.fail('it was called');
    await expect(careful.do('unconfirmed', effect)).rejects.toMatchObject({
      code: 'TENURE_OUTCOME_UNKNOWN',
    });
    await careful.close();
    expect(await once.read('unconfirmed')).toMatchObject({ state: 'free', attempt: 1 });
  });

  it('are not kept by a server that is full, and nothing is called', async () => {
    await user.config('SET', 'maxmemory', '1');
    try {
      const effect = () => expect.fail('it was called');
      await expect(once.do('full', effect)).rejects.toMatchObject({ storeCode: 'OOM' });
    } finally {
      await user.config('SET', 'maxmemory', '0');
    }
    expect(await once.read('full')).toBeUndefined();
  });
});

it('a Redis that may evict keys is refused', async () => {
  const args = ['--maxmemory', '64mb', '--maxmemory-policy', 'allkeys-lru'];
  const server = await startRedis({ args });
  const once = new Once(redisOnce(server.url));
  try {
    await expect(once.do(key, () => expect.fail('it was called'))).rejects.toMatchObject({
      ...{ code: 'TENURE_STORE_MISCONFIGURED', message: expect.stringContaining('noeviction') },
    });
  } finally {
    await once.close();
    await server.stop();
  }
});

describe('on a Redis Cluster', () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster({ nodeTimeoutMs: 20_000, replicaCount: 0 });
  }, 60_000);
  afterAll(() => cluster?.stop());

  it('all keys of a namespace are in one slot', async () => {
    const once = new Once(redisOnce(cluster.url));
    for (const one of ['a', '{b}', 'c']) expect(await once.do(one, () => one)).toBe(one);
    await once.do('d', () => Promise.reject(new Error('broken'))).catch(() => {});
    expect(await once.unknown()).toMatchObject([{ key: 'd' }]);
    await once.close();
  });
});
