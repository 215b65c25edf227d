import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  OptionError,
  OutcomeUnknownError,
  RecordCorruptError,
  StaleTermError,
  StoreRefusedError,
} from '../../../src/errors/index.js';
import { freshName, tokenOf } from '../../../src/fences/conformance/scenario.js';
import type { RedisBatch } from '../../../src/fences/redis/index.js';
import { type RedisFence, redisFence } from '../../../src/redis.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';
import { untyped } from '../../support/untyped.js';

let server: RedisServer;
let user: Redis;
let fence: RedisFence;

beforeAll(async () => {
  server = await startRedis();
  user = new Redis(server.url);
  user.on('error', () => {});
});

afterAll(async () => {
  user?.disconnect();
  await server?.stop();
});

beforeEach(async () => {
  await user.flushall();
  fence = redisFence(server.url);
});

afterEach(async () => await fence.close());

const token = tokenOf('ledger', 7);

/** Runs one batch and says what became of it. */
async function failureOf(fill: (batch: RedisBatch) => void): Promise<unknown> {
  return await fence
    .transaction(token, async (batch) => fill(batch))
    .then(
      () => undefined,
      (error: unknown) => error,
    );
}

describe('a batch of the Redis fence', () => {
  it('executes its commands in their order and hands out their replies', async () => {
    const queued = await fence.transaction(token, async (batch) => {
      const set = batch.command('SET', 'balance', 100);
      expect(() => set.reply).toThrow(OptionError);
      return [
        set,
        batch.command('INCRBY', 'balance', 5),
        batch.command('HSET', 'accounts', 'acme', 'open', 'bolt', 'shut'),
        batch.command('GETDEL', 'nothing'),
        batch.command('RPUSH', 'log', 'a|b', 'ü"\r\n'),
        batch.command('LPOP', 'log', 5),
        batch.command('INCRBYFLOAT', 'share', 0.5),
      ];
    });
    const replies = queued.map(({ reply }) => reply);
    expect(replies).toEqual(['OK', 105, 2, null, 2, ['a|b', 'ü"\r\n'], '0.5']);
    expect(await user.get('balance')).toBe('105');
  });

  it('executes nothing if a key is not of the type that its command needs', async () => {
    await user.lpush('list', 'one');
    const error = await failureOf((batch) => {
      batch.command('SET', 'before', '1');
      batch.command('HSET', 'list', 'field', 'value');
    });
    expect(error).toBeInstanceOf(StoreRefusedError);
    expect(error).toMatchObject({ storeCode: 'WRONGTYPE', message: /"list".*nothing was/s });
    expect(await user.get('before')).toBeNull();
    expect(await fence.installedTerm('ledger')).toBeUndefined();
  });

  it('asks for the type only of what the batch itself has not changed', async () => {
    await user.lpush('list', 'one');
    await fence.transaction(token, async (batch) => {
      batch.command('DEL', 'list');
      batch.command('HSET', 'list', 'field', 'value');
    });
    expect(await user.hgetall('list')).toEqual({ field: 'value' });
  });

  it('of one command is refused by the server itself', async () => {
    await user.lpush('list', 'one');
    const error = await failureOf((batch) => batch.command('INCR', 'list'));
    expect(error).toBeInstanceOf(StoreRefusedError);
    expect(error).toMatchObject({ storeCode: 'WRONGTYPE', message: /nothing was executed/ });
    expect(await fence.installedTerm('ledger')).toBeUndefined();
  });

  it.each([
    [
      'wrong arity',
      (batch: RedisBatch) => batch.command('SET', 'secret'),
      'too few or too many arguments',
    ],
    [
      'a text for a number',
      (batch: RedisBatch) => batch.command('INCRBY', 'n', 'secret'),
      'a value is no integer',
    ],
    [
      'a wrong option',
      (batch: RedisBatch) => batch.command('SET', 'n', '1', 'secret'),
      'syntax error',
    ],
  ] as const)(
    'tells the kind of an error in words of its own, and no argument: %s',
    async (_, fill, kind) => {
      for (const count of [1, 2]) {
        await fence.claim(token);
        const error = await failureOf((batch) => {
          fill(batch);
          if (count > 1) batch.command('SET', 'after', '1');
        });
        expect(error).toBeInstanceOf(StoreRefusedError);
        expect(String(error)).toContain(`failed with ERR (`);
        expect(String(error)).toContain(kind);
        expect(String(error)).not.toContain('secret');
      }
    },
  );

  it('is refused whole if its first command fails', async () => {
    await user.set('word', 'ten');
    const error = await failureOf((batch) => {
      batch.command('INCR', 'word');
      batch.command('SET', 'after', '1');
    });
    expect(error).toBeInstanceOf(StoreRefusedError);
    expect(error).toMatchObject({ storeCode: 'ERR', message: /command 1 \(INCR\) failed/ });
    expect(await user.get('after')).toBeNull();
    expect(await fence.installedTerm('ledger')).toBeUndefined();
  });

  it('says that its outcome is unknown if a later one fails: what came before stays', async () => {
    await user.set('word', 'ten');
    const attempt = fence.transaction(token, async (batch) => {
      await fence.recordOnce(batch, 'orders', 'acme', 1, 'm1');
      batch.command('SET', 'before', '1');
      batch.command('INCR', 'word');
      batch.command('SET', 'after', '1');
    });
    await expect(attempt).rejects.toBeInstanceOf(OutcomeUnknownError);
    await expect(attempt).rejects.toThrow(/in part: command 2 \(INCR\)/);
    expect(await user.mget('before', 'after')).toEqual(['1', null]);
    expect(await user.keys('*effect*')).toEqual([]);
  });

  it('whose first part stays, although a later command fails, lets nobody of a lower term write after it', async () => {
    const previous = tokenOf(token.name, token.term - 1);
    const write = (by: typeof token) =>
      fence.transaction(by, async (batch) => batch.command('APPEND', 'log', `${by.term} `));
    await write(previous);
    await user.set('word', 'none');
    const broken = fence.transaction(token, async (batch) => {
      batch.command('APPEND', 'log', `${token.term} `);
      batch.command('INCR', 'word');
    });
    await expect(broken).rejects.toBeInstanceOf(OutcomeUnknownError);
    await expect(write(previous)).rejects.toBeInstanceOf(StaleTermError);
    expect(await user.get('log')).toBe('6 7 ');
    await write(token);
    expect(await user.get('log')).toBe('6 7 7 ');
  });

  it('whose only command fails installs nothing', async () => {
    await user.set('word', 'none');
    const broken = fence.transaction(token, async (batch) => batch.command('INCR', 'word'));
    await expect(broken).rejects.toBeInstanceOf(StoreRefusedError);
    expect(await fence.installedTerm(token.name)).toBeUndefined();
  });

  it.each<[string, (batch: RedisBatch) => unknown]>([
    ['a command that reads', (batch) => batch.command(untyped('GET'), 'key')],
    ['one that deletes all', (batch) => batch.command(untyped('FLUSHALL'), 'SYNC')],
    ['one that changes the database', (batch) => batch.command(untyped('SELECT'), 1)],
    ['one that a script may not call', (batch) => batch.command(untyped('EVAL'), 'return', 0)],
    ['one of every object', (batch) => batch.command(untyped('toString'), 'key')],
    ['no command', (batch) => batch.command(untyped(undefined), 'key')],
    ['no argument', (batch) => batch.command('DEL')],
    ['an argument that is none', (batch) => batch.command('SET', 'key', untyped(undefined))],
    ['a text that is none', (batch) => batch.command('SET', 'key', 'a\ud800')],
    ['a key that is none', (batch) => batch.command('SET', '\udfff', 'a')],
    ['a number that is none', (batch) => batch.command('SET', 'key', Number.NaN)],
    ['more than a call in Lua takes', (b) => b.command('DEL', ...Array(7_001).fill('key'))],
    ["the fence's own keys", (b) => b.command('RENAME', 'key', `${fence.hashTag}:fence:x:y`)],
  ])('refuses %s, even if that is swallowed', async (_what, add) => {
    const error = await failureOf((batch) => {
      batch.command('SET', 'before', '1');
      expect(() => add(batch)).toThrow(OptionError);
    });
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ remedy: expect.stringMatching(/\w/) });
    expect(await user.get('before')).toBeNull();
  });

  it('says briefly what a batch holds, and how it is written', async () => {
    const told = (name: string) =>
      failureOf((batch) => batch.command(untyped(name), 'key')).then((error) => String(error));
    expect(await told('set')).toContain('(got "set"): write it in capital letters: SET');
    const ofReading = await told('GET');
    expect(ofReading).toMatch(/read beside the batch, and write with one of the \d+ commands/);
    expect(ofReading.length).toBeLessThan(260);
  });

  it('leaves alone what is none of its own under its name', async () => {
    await fence.claim(token);
    const [key = ''] = await user.keys('*:fence:*');
    for (const put of [() => user.set(key, 'mine'), () => user.lpush(key, 'mine')]) {
      await user.del(key);
      await put();
      expect(await failureOf((batch) => batch.command('SET', 'x', 1))).toBeInstanceOf(
        RecordCorruptError,
      );
      await expect(fence.claim(token)).rejects.toBeInstanceOf(RecordCorruptError);
      await expect(fence.installedTerm('ledger')).rejects.toBeInstanceOf(RecordCorruptError);
    }
    expect(await user.get('x')).toBeNull();
  });

  it('keeps effects as long as it is told', async () => {
    const forgetful = redisFence(server.url, { effectLifeMs: 90_000 });
    await forgetful.transaction(token, (batch) =>
      forgetful.recordOnce(batch, 'orders', 'acme', 1, 'm1'),
    );
    await fence.transaction(token, (batch) => fence.recordOnce(batch, 'orders', 'acme', 2, 'm2'));
    const [brief = '', lasting = ''] = (await user.keys('*:effect:*')).sort();
    expect(await user.pttl(brief)).toBeGreaterThan(60_000);
    expect(await user.pttl(lasting)).toBe(-1);
    await forgetful.close();
  });
});

describe('a server that lost the terms', () => {
  it('is found out by who has seen them, an earlier owner first of all, until it claims anew', async () => {
    const former = redisFence(server.url);
    const old = tokenOf('ledger', 6);
    await former.claim(old);
    await fence.claim(token);
    await user.flushall();
    const late = former.transaction(old, async (batch) => void batch.command('SET', 'x', 'late'));
    await expect(late).rejects.toMatchObject({ storeCode: 'FENCE_LOST', message: /Claim it/ });
    const own = failureOf((batch) => batch.command('SET', 'x', 'own'));
    await expect(own).resolves.toMatchObject({ storeCode: 'FENCE_LOST' });
    expect(await user.get('x')).toBeNull();
    await fence.claim(token);
    expect(await failureOf((batch) => batch.command('SET', 'x', 'own'))).toBeUndefined();
    await expect(former.claim(old)).rejects.toBeInstanceOf(StaleTermError);
    await former.close();
  });
});

describe('the clients of users', () => {
  it('serve as an address: ioredis', async () => {
    const client = new Redis(server.url, { lazyConnect: true });
    await writesThrough(redisFence(client));
    client.disconnect();
  });

  it('serve as an address: node-redis', async () => {
    await writesThrough(redisFence(createClient({ url: server.url })));
  });

  async function writesThrough(own: RedisFence): Promise<void> {
    const name = freshName('client');
    const set = await own.transaction(tokenOf(name, 1), async (batch) =>
      batch.command('SET', name, 'written'),
    );
    expect(set.reply).toBe('OK');
    expect(await user.get(name)).toBe('written');
    await own.close();
  }
});

describe('the options of a Redis fence', () => {
  it.each([
    ['hashTag', { hashTag: 'a}b' }],
    ['hashTag', { hashTag: '' }],
    ['namespace', { namespace: '' }],
    ['leases', { leases: untyped(true) }],
    ['leases.namespace', { leases: { namespace: '..' } }],
    ['effectLifeMs', { effectLifeMs: 5 }],
    ['timeoutMs', { timeoutMs: 0 }],
    ['replicas', { replicas: 65 }],
  ])('are checked: %s', (option, options) => {
    const make = () => redisFence(server.url, options);
    expect(make).toThrow(OptionError);
    expect(make).toThrow(expect.objectContaining({ option }));
  });
});
