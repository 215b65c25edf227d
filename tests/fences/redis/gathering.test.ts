import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { StaleTermError, StoreRefusedError } from '../../../src/errors/index.js';
import { freshName, tokenOf } from '../../../src/fences/conformance/scenario.js';
import type { FencingToken } from '../../../src/fences/index.js';
import { type RedisFence, type RedisWriteName, redisFence } from '../../../src/redis.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';

let server: RedisServer;
let user: Redis;
let fence: RedisFence;
let token: FencingToken;

beforeAll(async () => {
  server = await startRedis();
  user = new Redis(server.url);
});

afterAll(async () => {
  user?.disconnect();
  await server?.stop();
});

beforeEach(async () => {
  await user.flushall();
  fence = redisFence(server.url);
  token = tokenOf(freshName('together'), 5);
  await fence.claim(token);
});

afterEach(async () => await fence.close());

/** A batch of one command. */
const single = (under: FencingToken, name: RedisWriteName, ...args: (string | number)[]) =>
  fence
    .transaction(under, async (batch) => batch.command(name, ...args))
    .then(({ reply }) => reply);

const numbers = (count: number) => Array.from({ length: count }, (_, index) => `${index}`);

async function scriptCount(): Promise<number> {
  const stats = await user.info('commandstats');
  const counts = [...stats.matchAll(/cmdstat_(?:eval|evalsha):calls=(\d+)/g)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

describe('batches of one command that are asked for in one turn', () => {
  it('travel as one script, in their order, and each gets its own reply', async () => {
    const before = await scriptCount();
    const replies = await Promise.all([
      single(token, 'SET', 'balance', 100),
      single(token, 'INCRBY', 'balance', 5),
      single(token, 'GETDEL', 'nothing'),
      single(token, 'RPUSH', 'log', 'a|b', 'ü"\r\n'),
      single(token, 'LPOP', 'log', 5),
      single(token, 'PUBLISH', 'news', 'here'),
    ]);
    expect(replies).toEqual(['OK', 105, null, 2, ['a|b', 'ü"\r\n'], 0]);
    expect((await scriptCount()) - before).toBe(1);
  });

  it('are refused one by one: what the server refuses of one changes nothing for the others', async () => {
    await user.set('word', 'text');
    const outcomes = await Promise.allSettled([
      single(token, 'RPUSH', 'log', 'before'),
      single(token, 'INCRBY', 'word', 1),
      single(token, 'HSET', 'log', 'field', 'value'),
      single(token, 'RPUSH', 'log', 'after'),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    const [, ofWord, ofType] = outcomes as PromiseRejectedResult[];
    expect(ofWord?.reason).toBeInstanceOf(StoreRefusedError);
    expect(ofWord?.reason).toMatchObject({ storeCode: 'ERR' });
    expect(ofType?.reason).toMatchObject({ storeCode: 'WRONGTYPE' });
    expect(await user.lrange('log', 0, -1)).toEqual(['before', 'after']);
  });

  it('are all refused once another term is installed', async () => {
    const other = redisFence(server.url);
    await other.claim(tokenOf(token.name, 6));
    await other.close();
    const attempts = numbers(5).map((text) => single(token, 'RPUSH', 'log', text));
    for (const outcome of await Promise.allSettled(attempts))
      expect(outcome).toMatchObject({ reason: expect.any(StaleTermError) });
    expect(await user.exists('log')).toBe(0);
  });

  it('are judged by their own tokens', async () => {
    const impostor = tokenOf(token.name, 5, 'another');
    const elsewhere = tokenOf(freshName('elsewhere'), 9);
    await fence.claim(elsewhere);
    const outcomes = await Promise.allSettled([
      single(token, 'RPUSH', 'log', 'first'),
      single(impostor, 'RPUSH', 'log', 'never'),
      single(elsewhere, 'RPUSH', 'log', 'other'),
      single(token, 'RPUSH', 'log', 'second'),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect((outcomes[1] as PromiseRejectedResult).reason).toBeInstanceOf(StaleTermError);
    const log = await user.lrange('log', 0, -1);
    expect(log.toSorted()).toEqual(['first', 'other', 'second']);
    expect(log.indexOf('first')).toBeLessThan(log.indexOf('second'));
  });

  it('go in several scripts if they are many, still in their order', async () => {
    const texts = numbers(250);
    const before = await scriptCount();
    await Promise.all(texts.map((text) => single(token, 'RPUSH', 'log', text)));
    expect(await user.lrange('log', 0, -1)).toEqual(texts);
    expect((await scriptCount()) - before).toBe(3);
  });

  it('go in several scripts if they are long, each of about a megabyte, still in their order', async () => {
    const long = 'x'.repeat(400_000);
    const longer = 'y'.repeat(3_000_000);
    const before = await scriptCount();
    const texts = [long, long, long, 'short', longer, 'last'];
    await Promise.all(texts.map((text) => single(token, 'RPUSH', 'log', text)));
    const log = await user.lrange('log', 0, -1);
    expect(log.map((text) => text.length)).toEqual(texts.map((text) => text.length));
    expect((await scriptCount()) - before).toBe(4);
  });

  it('install their term anew only after a claim, if the server has lost it', async () => {
    await user.flushall();
    const attempts = numbers(3).map((text) => single(token, 'RPUSH', 'log', text));
    for (const outcome of await Promise.allSettled(attempts))
      expect(outcome).toMatchObject({ reason: { storeCode: 'FENCE_LOST' } });
    expect(await user.exists('log')).toBe(0);
    await fence.claim(token);
    expect(await single(token, 'RPUSH', 'log', 'again')).toBe(1);
  });
});
