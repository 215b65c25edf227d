import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Holder } from '../../src/coordinators/index.js';
import { RecordCorruptError } from '../../src/errors/index.js';
import type { FencingToken } from '../../src/fences/index.js';
import { type RedisStreams, redisStreams } from '../../src/redis.js';
import { StreamKeys } from '../../src/streams/redis/keys.js';
import { realRuntime } from '../../src/time/index.js';
import { call } from '../support/call.js';
import { damaged } from './damage.js';
import { fewOrAll } from './rounds.js';

let admin: Redis;
const open: RedisStreams[] = [];

beforeAll(() => {
  admin = new Redis(inject('redisUrl'));
});
afterAll(async () => {
  for (const one of open) await one.close();
  admin.disconnect();
});

/** A topic of its own, whose shards are given out one by one: each way to meddle has two of them. */
function newTopic(topic: string) {
  const namespace = `fuzz/${process.pid}`;
  const store = redisStreams(inject('redisUrl'), {
    ...{ namespace, topic },
    connectTimeoutMs: call.timeoutMs,
  });
  open.push(store);
  const keys = new StreamKeys(namespace, topic);
  let next = 0;
  return { store, keys, nextShard: () => next++ };
}

function tokenOf(shard: number, term: number): FencingToken {
  return { name: `fuzz/shards/${shard}`, term, holder: Holder.create('ann', realRuntime) };
}

function message(shard: number, key: string, id = realRuntime.randomHex(8)) {
  return { shard, key, id, payload: '1' };
}

const reading = { acknowledge: [], after: undefined, limit: 10 };

/** What no program of ours can have left there, of all that damages a text. */
function wrongTexts(valid: string, seed: number, isOurs: (text: string) => boolean): string[] {
  return fewOrAll(
    // A lone surrogate is no text of any store; another one is written for it.
    [...new Set(damaged(valid, seed).map((text) => Buffer.from(text).toString()))].filter(
      (text) => !isOurs(text),
    ),
    60,
    seed,
  );
}

const isNumber = (text: string | undefined, least: number, most: number) =>
  text !== undefined && /^\d{1,16}$/.test(text) && Number(text) >= least && Number(text) <= most;
const highestTerm = 8_640_000_000_000_000;
const mostSeq = Number.MAX_SAFE_INTEGER;

const isOwner = (text: string) => {
  const [, term] = /^1\|([1-9]\d*)\|[0-9a-f]{32}$/.exec(text) ?? [];
  return isNumber(term, 1, highestTerm);
};
const isState = (text: string) => {
  const [, last, , version, , position] = /^(\d+)(\|(\d+)(\|(\d+-\d+))?)?$/.exec(text) ?? [];
  const isVersion = version === undefined || isNumber(version, 0, mostSeq);
  return isNumber(last, 0, mostSeq - 1) && isVersion && (position?.length ?? 0) < 100;
};

/** Another type in place of it. */
const otherTypes: Readonly<Record<string, (key: string) => Promise<unknown>>> = {
  hash: (key) => admin.hset(key, 'a', '1'),
  list: (key) => admin.rpush(key, '1|9|x'),
  set: (key) => admin.sadd(key, '1'),
  stream: (key) => admin.xadd(key, '*', 'm1', 'x'),
  string: (key) => admin.set(key, '1'),
};

describe('what stands in a stream in Redis and was meddled with', () => {
  it('as the owner of a log lets nobody in, and is told with its key', async () => {
    const { store, keys, nextShard } = newTopic('owners');
    const valid = `1|7|${Holder.create('ann', realRuntime).digest}`;
    const spoil = [
      ...wrongTexts(valid, 1, isOwner).map((text) => (key: string) => admin.set(key, text)),
      ...['hash', 'list', 'set', 'stream'].map((type) => otherTypes[type]),
    ];
    for (const write of spoil) {
      const [shard, beside] = [nextShard(), nextShard()];
      const { owner } = keys.shard(shard);
      const [token, other] = [tokenOf(shard, 7), tokenOf(beside, 7)];
      await store.install([{ shard, token }], call);
      await store.publish([message(shard, 'a'), message(beside, 'a')], call);
      await admin.del(owner);
      await write?.(owner);
      const what = `${await admin.type(owner)} ${JSON.stringify(await admin.get(owner).catch(() => ''))}`;
      const says = { outcome: 'corrupt', detail: expect.stringContaining(`"${owner}"`) };
      for (const term of [3, 7, 8, highestTerm]) {
        const installed = await store.install(
          [
            { shard, token: tokenOf(shard, term) },
            { shard: beside, token: other },
          ],
          call,
        );
        expect(installed, what).toEqual([says, { outcome: 'installed' }]);
      }
      const steps = [
        { ...reading, shard, token },
        { ...reading, shard: beside, token: other },
      ];
      const [step, next] = await store.step(steps, call);
      expect(step, what).toEqual(says);
      expect(next).toMatchObject({ outcome: 'ok', messages: [{ key: 'a' }] });
    }
  });

  it('as the state of a key numbers no message anew, and keeps nobody from the others', async () => {
    const { store, keys, nextShard } = newTopic('states');
    const texts = [
      ...wrongTexts('12', 2, isState),
      ...wrongTexts('12|3', 3, isState),
      ...wrongTexts('12|3|1790000000000-0', 4, isState),
      String(mostSeq),
      '9007199254740992',
      '1|9007199254740993',
    ];
    for (const [index, text] of texts.entries()) {
      const shard = index % 50;
      if (index < 50) nextShard();
      const [key, beside] = [`a${index}`, `b${index}`];
      const names = keys.shard(shard);
      await admin.hset(names.keys, key, text);
      const what = JSON.stringify(text).slice(0, 200);
      const published = await store.publish([message(shard, key), message(shard, beside)], call);
      const says = { outcome: 'corrupt', detail: expect.stringContaining(`"${names.keys}"`) };
      expect(published, what).toEqual([says, { outcome: 'appended', seq: 1 }]);
      for (const ask of [
        () => store.seal(shard, key, 9, call),
        () => store.open(shard, key, 1, 9, call),
        () => store.open(shard, key, mostSeq, 9, call),
      ])
        await expect(ask(), what).rejects.toThrow(RecordCorruptError);
      expect(await admin.hget(names.keys, key)).toBe(text);
    }
  });

  it('as the memory of an id is no number that somebody was told', async () => {
    const { store, keys } = newTopic('ids');
    const isOurs = (text: string) => text === '' || isNumber(text, 1, mostSeq);
    for (const [index, text] of wrongTexts('12', 5, isOurs).entries()) {
      const names = keys.shard(0);
      const { key, id } = message(0, 'a', `id-${index}`);
      await admin.set(names.id(key, id), text);
      const [published, beside] = await store.publish(
        [message(0, key, id), message(1, `beside-${index}`)],
        call,
      );
      const what = JSON.stringify(text).slice(0, 200);
      const detail = expect.stringContaining(`"${names.id(key, id)}"`);
      expect(published, what).toEqual({ outcome: 'corrupt', detail });
      expect(beside).toEqual({ outcome: 'appended', seq: 1 });
    }
    const [next] = await store.publish([message(0, 'a')], call);
    expect(next, 'none of them took a number').toEqual({ outcome: 'appended', seq: 1 });
  });

  it('as an entry is no message, and what stands before it is delivered', async () => {
    const { store, keys, nextShard } = newTopic('entries');
    const isMessage = (text: string) => {
      const [seq, ...parts] = text.split('\0');
      return isNumber(seq, 1, mostSeq) && parts.length === 3 && parts.every((part) => part !== '');
    };
    const texts = wrongTexts('12\0key\0id\0"payload"', 6, isMessage);
    const spoil = [
      ...texts.map((text) => ['m1', text]),
      ...[
        ['m2', '1\0a\0b\x001'],
        ['m1', '1\0a\0b\x001', 'm1', '2\0a\0c\x001'],
        ['', ''],
      ],
    ];
    for (const fields of spoil) {
      const [shard, beside] = [nextShard(), nextShard()];
      const { log } = keys.shard(shard);
      const tokens = [tokenOf(shard, 7), tokenOf(beside, 7)] as const;
      const both = [shard, beside].map((one, index) => ({
        shard: one,
        token: tokens[index === 0 ? 0 : 1],
      }));
      await store.install(both, call);
      await store.publish([message(shard, 'a'), message(beside, 'a')], call);
      await admin.xadd(log, '*', ...fields);
      const what = JSON.stringify(fields).slice(0, 200);
      const steps = both.map((one) => ({ ...reading, ...one }));
      const read = await store.step(steps, call);
      expect(read, what).toMatchObject([
        { outcome: 'ok', messages: [{ key: 'a', seq: 1 }] },
        { outcome: 'ok', messages: [{ key: 'a', seq: 1 }] },
      ]);
      const [first] = read;
      const position = first?.outcome === 'ok' ? first.messages[0]?.position : undefined;
      const { token } = { token: tokens[0] };
      const after = { shard, token, acknowledge: [], after: position, limit: 10 };
      const [next] = await store.step([after], call);
      const detail = expect.stringContaining(`"${log}"`);
      expect(next, what).toEqual({ outcome: 'corrupt', detail });
      await expect(store.seal(shard, 'z', 1, call), what).rejects.toThrow(RecordCorruptError);
    }
  });

  it('as the last position that there can be keeps nobody from the other logs', async () => {
    const { store, keys } = newTopic('positions');
    const { log } = keys.shard(0);
    const last = '18446744073709551615';
    await admin.xadd(log, `${last}-${last}`, 'm1', '1\0a\0b\x001');
    const published = await store.publish(
      [message(0, 'c'), message(1, 'c'), message(0, 'd')],
      call,
    );
    const says = { outcome: 'corrupt', detail: expect.stringContaining(`"${log}"`) };
    expect(published).toEqual([says, { outcome: 'appended', seq: 1 }, says]);
    await admin.del(log);
    const again = await store.publish([message(0, 'c'), message(0, 'd')], call);
    expect(again, 'nothing was numbered').toEqual(
      [1, 1].map((seq) => ({ outcome: 'appended', seq })),
    );
  });

  it('as the number of shards is none, and is told with its key', async () => {
    const texts = wrongTexts('1|256', 7, (text) =>
      isNumber(/^1\|(\d+)$/.exec(text)?.[1], 1, mostSeq),
    );
    for (const [index, text] of texts.entries()) {
      const { store, keys } = newTopic(`topic-${index}`);
      await admin.set(keys.topic, text);
      const asking = store.describeTopic(256, call);
      const what = JSON.stringify(text).slice(0, 200);
      await expect(asking, what).rejects.toThrow(RecordCorruptError);
      expect(await admin.get(keys.topic)).toBe(text);
      await store.close();
    }
  });

  it('as another type is told with its key by everything that is asked', async () => {
    const { store, keys, nextShard } = newTopic('types');
    for (const [type, write] of Object.entries(otherTypes))
      for (const part of ['log', 'keys'] as const) {
        if ((part === 'log' && type === 'stream') || (part === 'keys' && type === 'hash')) continue;
        const [shard, beside] = [nextShard(), nextShard()];
        const key = keys.shard(shard)[part];
        await write(key);
        const what = `${part} ${type}`;
        const says = { outcome: 'corrupt', detail: expect.stringContaining(`"${key}"`) };
        const published = await store.publish([message(shard, 'a'), message(beside, 'a')], call);
        expect(published, what).toEqual([says, { outcome: 'appended', seq: 1 }]);
        await expect(store.seal(shard, 'a', 1, call), what).rejects.toThrow(RecordCorruptError);
        if (part === 'log')
          await expect(store.backlog([shard], call), what).rejects.toThrow(RecordCorruptError);
      }
  });
});
