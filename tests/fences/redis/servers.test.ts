import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Cluster, Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterEach, describe, expect, it } from 'vitest';
import {
  OptionError,
  OutcomeUnknownError,
  StoreMisconfiguredError,
  StoreRefusedError,
} from '../../../src/errors/index.js';
import { tokenOf } from '../../../src/fences/conformance/scenario.js';
import {
  type RedisBatch,
  type RedisFence,
  type RedisFenceOptions,
  redisFence,
} from '../../../src/redis.js';
import { FaultProxy } from '../../support/proxy.js';
import { startRedis, startRedisCluster } from '../../support/servers/index.js';
import { withRedis } from './subject.js';

const open: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await (one.close?.() ?? one.stop?.());
});

function opened<Resource extends (typeof open)[number]>(resource: Resource): Resource {
  open.push(resource);
  return resource;
}

const token = tokenOf('ledger', 7);
const add = (fence: RedisFence, key = 'total') =>
  fence.transaction(token, async (batch) => batch.command('INCRBY', key, 10));

async function failureOf(attempt: Promise<unknown>): Promise<Error> {
  return await attempt.then(
    () => new Error('it was executed'),
    (error: Error) => error,
  );
}

async function secondOf(attempts: readonly Promise<unknown>[]): Promise<unknown> {
  await Promise.allSettled(attempts);
  return await attempts[1];
}

describe('the Redis fence behind a connection that fails', { timeout: 30_000 }, () => {
  async function behindProxy(options: RedisFenceOptions = {}) {
    const server = opened(await startRedis());
    const proxy = opened(await FaultProxy.start(server.port));
    const fence = opened(redisFence(`redis://127.0.0.1:${proxy.port}`, options));
    await fence.claim(token);
    const total = () => withRedis(server.url, (redis) => redis.get('total'));
    return { server, proxy, fence, total };
  }

  it('does not know the outcome when the reply is lost, and has executed the batch once', async () => {
    const { proxy, fence, total } = await behindProxy();
    proxy.down.swallow();
    const attempt = add(fence);
    void proxy.down.caught().then(() => proxy.reset());
    await expect(attempt).rejects.toBeInstanceOf(OutcomeUnknownError);
    await expect(attempt).rejects.toThrow('the batch under "ledger" was sent');
    proxy.heal();
    expect((await add(fence)).reply).toBe(20);
    expect(await total()).toBe('20');
  });

  it('says what it was asked for, and where, when nobody is there', async () => {
    const fence = opened(redisFence('redis://ann:secret@127.0.0.1:1', { timeoutMs: 300 }));
    for (const [words, call] of [
      ['the claim of "ledger"', () => fence.claim(token)],
      ['the batch under "ledger"', () => add(fence)],
      ['the reading of the term of "ledger"', () => fence.installedTerm('ledger')],
    ] as const) {
      const error: unknown = await call().catch((reason: unknown) => reason);
      expect(String(error)).toContain(
        `${words} was not sent: no connection to redis://127.0.0.1:1/0`,
      );
      expect(String(error)).not.toContain('secret');
    }
  });

  it('does not execute a batch that arrives after its time is over', async () => {
    const { proxy, fence, total } = await behindProxy({ timeoutMs: 300 });
    proxy.up.hold();
    await expect(add(fence)).rejects.toBeInstanceOf(OutcomeUnknownError);
    proxy.heal();
    await expect.poll(() => fence.installedTerm('ledger').catch(() => 0)).toBe(7);
    expect(await total()).toBeNull();
  });
});

describe('the Redis fence on a server', { timeout: 60_000 }, () => {
  it('that may evict keys refuses to work, since a term could vanish', async () => {
    for (const policy of ['allkeys-lru', 'volatile-ttl']) {
      const args = ['--maxmemory', '50mb', '--maxmemory-policy', policy];
      const server = opened(await startRedis({ args }));
      const fence = opened(redisFence(server.url));
      await expect(fence.claim(token)).rejects.toBeInstanceOf(StoreMisconfiguredError);
      await expect(add(fence)).rejects.toThrow(policy);
    }
  });

  it('that has no memory left executes nothing of a batch, not even what needs none', async () => {
    const server = opened(await startRedis());
    const fence = opened(redisFence(server.url));
    await fence.claim(token);
    await withRedis(server.url, async (redis) => {
      await redis.set('old', 'there');
      await redis.config('SET', 'maxmemory', '1');
      const attempt = fence.transaction(token, async (batch) => {
        batch.command('DEL', 'old');
        batch.command('SET', 'new', 'x');
      });
      await expect(attempt).rejects.toMatchObject({ storeCode: 'OOM' });
      await expect(attempt).rejects.toBeInstanceOf(StoreRefusedError);
      expect(await redis.get('old')).toBe('there');
    });
  });

  /** What the server refuses, and how it is brought to that. */
  const refusals = {
    OOM: (redis: Redis) => redis.config('SET', 'maxmemory', '1'),
    NOREPLICAS: (redis: Redis) => redis.config('SET', 'min-replicas-to-write', '1'),
    MISCONF: async (redis: Redis, dir: string) => {
      await mkdir(join(dir, 'dump.rdb'));
      await redis.config('SET', 'save', '3600 1');
      await redis.bgsave();
      const hasFailed = async () => /bgsave_status:err/.test(await redis.info('persistence'));
      await expect.poll(hasFailed).toBe(true);
    },
  };
  const remedies = {
    OOM: [StoreRefusedError, 'Give the server more memory'],
    NOREPLICAS: [StoreRefusedError, 'Bring its replicas back, or lower min-replicas-to-write'],
    MISCONF: [StoreMisconfiguredError, 'repair that first'],
  } as const;

  it.each(['OOM', 'NOREPLICAS', 'MISCONF'] as const)(
    'that takes no writes (%s) is told with its remedy, by a claim as by any batch',
    async (code) => {
      const server = opened(await startRedis());
      const fence = opened(redisFence(server.url));
      await fence.claim(token);
      const newTerm = tokenOf('ledger', 8);
      const set = (batch: RedisBatch, key = 'a') => void batch.command('SET', key, 'x');
      const one = (under = token) => fence.transaction(under, async (batch) => set(batch));
      const several = (under = token) =>
        fence.transaction(under, async (batch) => {
          set(batch);
          set(batch, 'b');
        });
      const writes = [
        () => one(),
        () => secondOf([one(), one()]),
        () => several(),
        () => one(newTerm),
        () => several(newTerm),
        () => fence.claim(newTerm),
      ];
      const [kind, remedy] = remedies[code];
      await withRedis(server.url, async (redis) => {
        await refusals[code](redis, server.dir);
        for (const write of writes) {
          const error = await failureOf(write());
          expect(error).toBeInstanceOf(kind);
          for (const words of [code, '"ledger"', remedy]) expect(error.message).toContain(words);
        }
        expect(await redis.exists('a', 'b')).toBe(0);
        expect(await fence.installedTerm('ledger')).toBe(token.term);
        // With it the server would not end before it has saved.
        await redis.config('SET', 'save', '');
      });
    },
  );

  it('that is no master any more is left for the one that is, by one command as by several', async () => {
    const old = opened(await startRedis());
    const next = opened(await startRedis());
    const proxy = opened(await FaultProxy.start(old.port));
    const elsewhere = opened(redisFence(next.url));
    await elsewhere.claim(token);
    const addTwice = (fence: RedisFence) =>
      fence.transaction(token, async (batch) => {
        batch.command('PUBLISH', 'news', 'here');
        return batch.command('INCRBY', 'total', 10);
      });
    const writes = {
      one: (fence: RedisFence) => add(fence),
      'several of one': (fence: RedisFence) =>
        Promise.all([add(fence), add(fence)]).then(([, { reply }]) => ({ reply })),
      'one of several': addTwice,
    };
    const replies: number[] = [];
    for (const write of Object.values(writes)) {
      await withRedis(old.url, (redis) => redis.replicaof('NO', 'ONE'));
      proxy.aim(old.port);
      const fence = opened(redisFence(`redis://127.0.0.1:${proxy.port}`));
      await fence.claim(token);
      // Whoever is connected stays connected, and is refused what writes.
      await withRedis(old.url, (redis) => redis.replicaof('127.0.0.1', '1'));
      proxy.aim(next.port);
      replies.push((await write(fence)).reply);
    }
    expect(replies).toEqual([10, 30, 40]);
    expect(await withRedis(old.url, (redis) => redis.exists('total'))).toBe(0);
  });

  it('whose replicas are gone does not count a write as done', async () => {
    const server = opened(await startRedis());
    const fence = opened(redisFence(server.url, { replicas: 1, replicaTimeoutMs: 50 }));
    await expect(fence.claim(token)).rejects.toBeInstanceOf(OutcomeUnknownError);
    await expect(add(fence)).rejects.toThrow(/executed, but a failover may forget it: 0 of 1/);
  });

  it('of a cluster takes keys of its slot alone, and names the others', async () => {
    const cluster = opened(await startRedisCluster({ replicaCount: 0 }));
    const fence = opened(redisFence(cluster.url, { hashTag: 'ledger' }));
    expect((await add(fence, '{ledger}:total')).reply).toBe(10);
    const elsewhere = fence.transaction(token, async (batch) => {
      batch.command('MSET', '{ledger}:a', 1, '{other}:b', 2, 'acme:{ledger}', 3);
    });
    await expect(elsewhere).rejects.toBeInstanceOf(OptionError);
    await expect(elsewhere).rejects.toMatchObject({
      option: 'key',
      message: expect.stringContaining('{other}:b'),
      remedy: expect.stringContaining('{ledger}'),
    });
    const leased = () => redisFence(cluster.url, { hashTag: 'ledger', leases: {} });
    expect(leased).toThrow(expect.objectContaining({ option: 'hashTag' }));
    const beside = opened(redisFence(cluster.url, { leases: {} }));
    expect(beside.hashTag).toBe('{tenure:default}');
  });
});

describe('a client of the user’s that puts a prefix before its keys', () => {
  const at = { host: '127.0.0.1', port: 1, keyPrefix: 'shop:', lazyConnect: true };
  it.each([
    ['ioredis', () => new Redis(at)],
    ['a cluster of ioredis', () => new Cluster([at], { keyPrefix: 'shop:', lazyConnect: true })],
    ['node-redis', () => createClient({ keyPrefix: 'shop:' })],
  ])('is refused, since a batch would write other keys than it reads: %s', (_, create) => {
    expect(() => redisFence(create())).toThrow(/keyPrefix of the client .*"shop:".*in full/);
  });

  it('is told from what is no client', () => {
    for (const none of [null, undefined, 5])
      expect(() => redisFence(none as never)).toThrow(OptionError);
  });

  it('is taken without one', async () => {
    await redisFence(new Redis({ ...at, keyPrefix: '' })).close();
  });
});
