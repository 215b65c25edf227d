import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Holder } from '../../../src/coordinators/index.js';
import { RecordCorruptError } from '../../../src/errors/index.js';
import type { FencingToken } from '../../../src/fences/index.js';
import type { PublishRequest, StreamStore } from '../../../src/streams/contract.js';
import { type RedisStreamsOptions, redisStreams } from '../../../src/streams/redis/index.js';
import { realRuntime } from '../../../src/time/index.js';
import { call } from '../../support/call.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';

/** What the conformance suite cannot see: what stands in the server, and what it is told to do. */

const prefix = '{tenure:default:orders:s0}';
let server: RedisServer;
let admin: Redis;
let opened: StreamStore[];

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.url);
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});
beforeEach(async () => {
  opened = [];
  await admin.flushall();
});
afterEach(async () => {
  for (const store of opened) await store.close();
});

function open(options: Partial<RedisStreamsOptions> = {}, url = server.url): StreamStore {
  const store = redisStreams(url, { topic: 'orders', ...options });
  opened.push(store);
  return store;
}

function message(parts: Partial<PublishRequest> = {}): PublishRequest {
  return { shard: 0, key: 'a', id: realRuntime.randomHex(8), payload: '1', ...parts };
}

async function own(store: StreamStore, shard = 0): Promise<FencingToken> {
  const holder = Holder.create('worker', realRuntime);
  const token = { name: `orders/shards/${shard}`, term: 7, holder };
  await store.install([{ shard, token }], call);
  return token;
}

async function read(store: StreamStore, token: FencingToken) {
  const request = { shard: 0, token, acknowledge: [], after: undefined, limit: 100 };
  const [result] = await store.step([request], call);
  return result?.outcome === 'ok' ? result.messages : expect.fail('not the owner');
}

describe('the keys of a topic', () => {
  it('are those that the protocol names, each with its hash tag first', async () => {
    const store = open();
    await own(store);
    await store.publish([message({ key: 'é/1', id: 'x' }), message({ shard: 12, id: 'y' })], call);
    expect((await admin.keys('*')).sort()).toEqual([
      `${prefix}:id:%C3%A9%2F1:x`,
      `${prefix}:keys`,
      `${prefix}:log`,
      `${prefix}:owner`,
      '{tenure:default:orders:s12}:id:a:y',
      '{tenure:default:orders:s12}:keys',
      '{tenure:default:orders:s12}:log',
    ]);
    const [entry] = await admin.xrange(`${prefix}:log`, '-', '+');
    expect(entry?.[1]).toEqual(['m1', '1\0é/1\0x\x001']);
  });

  it('encode namespace and topic, so that neither moves the hash tag', async () => {
    const store = open({ namespace: 'a}b', topic: 'c:{d}/*' });
    await store.publish([message({ id: 'x' })], call);
    const tag = '{tenure:a%7Db:c%3A%7Bd%7D%2F%2A:s0}';
    expect((await admin.keys('*')).sort()).toEqual([`${tag}:id:a:x`, `${tag}:keys`, `${tag}:log`]);
  });

  it('hold the digest of the owner and not its nonce, and keep it for ever', async () => {
    const { holder } = await own(open());
    const owner = await admin.get(`${prefix}:owner`);
    expect(owner).toBe(`1|7|${holder.digest}`);
    expect(await admin.pttl(`${prefix}:owner`)).toBe(-1);
    expect(owner).not.toContain(holder.wire.split(':')[1]);
  });
});

describe('the memory of ids', () => {
  it('lasts for the dedupe window', async () => {
    const store = open({ dedupeWindowMs: 150 });
    expect(store.promises.dedupeWindowMs).toBe(150);
    const repeated = message({ id: 'x' });
    await store.publish([repeated], call);
    expect(await store.publish([repeated], call)).toEqual([{ outcome: 'duplicate', seq: 1 }]);
    expect(await admin.pttl(`${prefix}:id:a:x`)).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await store.publish([repeated], call)).toEqual([{ outcome: 'appended', seq: 2 }]);
  });
});

describe('a clock that was set back', () => {
  it('changes neither the order of the log nor the acknowledging', async () => {
    const store = open();
    const token = await own(store);
    const inAnHour = Date.now() + 3_600_000;
    await admin.xadd(`${prefix}:log`, `${inAnHour}-0`, 'm1', '1\0b\0x\x001');
    await store.publish([message(), message()], call);
    const messages = await read(store, token);
    expect(messages.map(({ key, seq }) => `${key}:${seq}`)).toEqual(['b:1', 'a:1', 'a:2']);
    const [backlog] = await store.backlog([0], call);
    expect(backlog).toEqual({ shard: 0, count: 3, oldestAgeMs: 0 });
    const acknowledge = messages.map(({ position }) => position);
    const [result] = await store.step(
      [{ shard: 0, token, acknowledge, after: acknowledge.at(-1), limit: 10 }],
      call,
    );
    expect(result).toEqual({ outcome: 'ok', messages: [], acknowledgedCount: 3 });
  });
});

describe('the bell', () => {
  it('is rung once per shard and batch, and only if the log was empty', async () => {
    const listener = new Redis(server.url);
    const rings: string[] = [];
    listener.on('message', (_channel, shard) => rings.push(shard));
    await listener.subscribe('{tenure:default:orders}:bell');
    const store = open();
    await store.publish([message(), message(), message({ shard: 5 }), message()], call);
    await store.publish([message(), message({ shard: 5 }), message({ shard: 6 })], call);
    await store.publish([message({ shard: 6, seq: 9 }), message({ shard: 8, seq: 9 })], call);
    await admin.publish('{tenure:default:orders}:bell', 'end');
    await expect.poll(() => rings.at(-1)).toBe('end');
    expect(rings.slice(0, 2).sort()).toEqual(['0', '5']);
    expect(rings.slice(2)).toEqual(['6', 'end']);
    listener.disconnect();
  });

  it('may be forbidden: the append succeeds all the same', async () => {
    await admin.call('ACL', 'SETUSER', 'mute', 'on', '>secret', '~*', '+@all', 'resetchannels');
    const store = open({}, server.url.replace('//', '//mute:secret@'));
    expect(await store.publish([message()], call)).toEqual([{ outcome: 'appended', seq: 1 }]);
  });

  it('takes a text that is no shard for a wake of everything', async () => {
    const store = open();
    const wakes: (number | undefined)[] = [];
    store.watch((shard) => wakes.push(shard));
    await expect.poll(() => wakes.length).toBeGreaterThan(0);
    await admin.publish('{tenure:default:orders}:bell', 'NaN');
    await admin.publish('{tenure:default:orders}:bell', '3');
    await expect.poll(() => wakes.at(-1)).toBe(3);
    expect(wakes.at(-2)).toBeUndefined();
  });
});

describe('something that is not ours under one of our keys', () => {
  const corrupt = (key: string) => ({
    outcome: 'corrupt',
    detail: expect.stringContaining(`"${key}"`),
  });

  it.each(['log', 'keys'])(
    'refuses the publishes of its shard and stays as it is: %s',
    async (part) => {
      const store = open();
      const key = `{tenure:default:orders:s1}:${part}`;
      await admin.set(key, 'foreign');
      const batch = [message({ shard: 1 }), message(), message({ shard: 1 })];
      expect(await store.publish(batch, call)).toEqual([
        corrupt(key),
        { outcome: 'appended', seq: 1 },
        corrupt(key),
      ]);
      expect(await admin.get(key)).toBe('foreign');
      expect(await admin.keys('{tenure:default:orders:s1}:*')).toEqual([key]);
    },
  );

  it.each(['foreign', '0x1f', '7|', '7|1-0', '7|2|', '7|2|3', '-1'])(
    'refuses a state of a key that is none: %s',
    async (state) => {
      const store = open();
      await admin.hset(`${prefix}:keys`, 'a', state);
      expect(await store.publish([message(), message({ key: 'b' })], call)).toEqual([
        corrupt(`${prefix}:keys`),
        { outcome: 'appended', seq: 1 },
      ]);
      await expect(store.seal(0, 'a', 9, call)).rejects.toThrow(RecordCorruptError);
      await expect(store.open(0, 'a', 1, 9, call)).rejects.toThrow(RecordCorruptError);
      expect(await admin.hget(`${prefix}:keys`, 'a')).toBe(state);
    },
  );

  it('refuses a message whose id stands for something else, and spends no number on it', async () => {
    const store = open();
    await admin.hset(`${prefix}:id:a:x`, 'field', 'foreign');
    await admin.set(`${prefix}:id:a:y`, 'foreign');
    const batch = [message({ id: 'x' }), message({ id: 'y' }), message({ id: 'z' })];
    expect(await store.publish(batch, call)).toEqual([
      corrupt(`${prefix}:id:a:x`),
      corrupt(`${prefix}:id:a:y`),
      { outcome: 'appended', seq: 1 },
    ]);
  });

  it.each(['foreign', '2|7|abc', '1|7', '1|seven|abc'])(
    'refuses to install or step over a text that is no owner: %s',
    async (owner) => {
      const store = open();
      await admin.set(`${prefix}:owner`, owner);
      const token = { name: 'orders/shards/0', term: 7, holder: Holder.create('w', realRuntime) };
      const installed = await store.install([{ shard: 0, token }], call);
      expect(installed).toEqual([corrupt(`${prefix}:owner`)]);
      const request = { shard: 0, token, acknowledge: [], after: undefined, limit: 1 };
      expect(await store.step([request], call)).toEqual([corrupt(`${prefix}:owner`)]);
      expect(await admin.get(`${prefix}:owner`)).toBe(owner);
    },
  );

  const broken: [string, string[]][] = [
    ['another format', ['m2', '1\0a\0x\x001']],
    ['two fields', ['m1', '1\0a\0x\x001', 'm2', '1']],
    ['no number', ['m1', 'no seq']],
    ['a number that is none', ['m1', '1e3\0a\0x\x001']],
    ['parts that are missing', ['m1', '5\0k']],
    ['an empty part', ['m1', '5\0k\0\0{}']],
    ['parts too many', ['m1', '5\0k\0i\0{}\0{}']],
  ];
  it.each(broken)('reads no entry of another form, nor past it: %s', async (_, fields) => {
    const store = open();
    const token = await own(store);
    await store.publish([message({ id: 'x' })], call);
    const position = await admin.xadd(`${prefix}:log`, '*', ...fields);
    await store.publish([message({ id: 'y' }), message({ id: 'z' })], call);
    const before = await read(store, token);
    expect(before.map(({ id }) => id)).toEqual(['x']);
    const step = async () => {
      const after = before[0]?.position;
      return store.step([{ shard: 0, token, acknowledge: [], after, limit: 9 }], call);
    };
    expect(await step()).toEqual([corrupt(`${prefix}:log`)]);
    await expect(store.seal(0, 'other', 1, call)).rejects.toThrow(RecordCorruptError);
    await admin.xdel(`${prefix}:log`, String(position));
    const [result] = await step();
    expect(result?.outcome === 'ok' && result.messages.map(({ id }) => id)).toEqual(['y', 'z']);
  });

  it('refuses a log of another type', async () => {
    const store = open();
    const token = await own(store);
    await admin.set(`${prefix}:log`, 'foreign');
    const request = { shard: 0, token, acknowledge: ['1-1'], after: undefined, limit: 1 };
    expect(await store.step([request], call)).toEqual([corrupt(`${prefix}:log`)]);
    const reading = { ...request, acknowledge: [] };
    expect(await store.step([reading], call)).toEqual([corrupt(`${prefix}:log`)]);
    await expect(store.backlog([0], call)).rejects.toThrow(RecordCorruptError);
    await expect(store.seal(0, 'a', 1, call)).rejects.toThrow(RecordCorruptError);
  });

  it('refuses a topic that is described by something else', async () => {
    const store = open();
    await admin.set('{tenure:default:orders}:topic', '8');
    await expect(store.describeTopic(8, call)).rejects.toThrow(RecordCorruptError);
    await admin.del('{tenure:default:orders}:topic');
    await admin.hset('{tenure:default:orders}:topic', 'count', '8');
    await expect(store.describeTopic(8, call)).rejects.toThrow(RecordCorruptError);
  });
});

describe('a large batch', () => {
  it('is executed in pieces, so that none holds the server up', async () => {
    const store = open();
    await store.publish([message()], call);
    await admin.config('RESETSTAT');
    const half = JSON.stringify('x'.repeat(200 * 1024));
    await store.publish(
      Array.from({ length: 12 }, () => message({ payload: half })),
      call,
    );
    expect(await admin.info('commandstats')).toMatch(/cmdstat_evalsha:calls=3,/);
  });

  it('is answered in parts if it is large to read: at least one message for every shard', async () => {
    const store = open();
    const shards = Array.from({ length: 40 }, (_, shard) => shard);
    const payload = JSON.stringify('x'.repeat(200 * 1024));
    await store.publish(
      [...shards, ...shards].map((shard) => message({ shard, payload })),
      call,
    );
    const tokens = await Promise.all(shards.map((shard) => own(store, shard)));
    const results = await store.step(
      tokens.map((token, shard) => ({
        shard,
        token,
        acknowledge: [],
        after: undefined,
        limit: 10,
      })),
      call,
    );
    const counts = results.map((result) => (result.outcome === 'ok' ? result.messages.length : 0));
    expect(new Set(counts)).toEqual(new Set([1, 2]));
    expect(counts.filter((count) => count === 2).length).toBeLessThan(20);
  });
});

describe('a shard full of large messages', () => {
  it('is read in answers of a bounded size, and to its end', async () => {
    const store = open();
    const token = await own(store);
    const payload = JSON.stringify('x'.repeat(200 * 1024));
    for (let part = 0; part < 8; part++) {
      await store.publish(
        Array.from({ length: 10 }, () => message({ payload })),
        call,
      );
    }
    const seqs: number[] = [];
    const counts: number[] = [];
    for (let after: string | undefined; ; ) {
      const request = { shard: 0, token, acknowledge: [], after, limit: 1_000 };
      const [result] = await store.step([request], call);
      const messages = result?.outcome === 'ok' ? result.messages : expect.fail('not the owner');
      if (messages.length === 0) break;
      after = messages.at(-1)?.position;
      counts.push(messages.length);
      seqs.push(...messages.map(({ seq }) => seq));
    }
    expect(seqs).toEqual(Array.from({ length: 80 }, (_, index) => index + 1));
    // Eight megabytes at most.
    expect(Math.max(...counts)).toBeLessThanOrEqual(40);
    expect(Math.min(...counts.slice(0, -1))).toBeGreaterThan(1);
  });

  it('is sealed without reading it in one go', async () => {
    const store = open();
    const payload = JSON.stringify('x'.repeat(200 * 1024));
    for (let part = 0; part < 4; part++) {
      await store.publish(
        Array.from({ length: 10 }, () => message({ key: 'b', payload })),
        call,
      );
    }
    expect(await store.seal(0, 'a', 1, call)).toEqual({
      outcome: 'sealed',
      lastSeq: 0,
      drained: true,
    });
    expect(await store.seal(0, 'b', 1, call)).toMatchObject({ drained: false });
  });
});

describe('a sealed key behind a long backlog of others', () => {
  it('is not called drained before that was looked through', async () => {
    const store = open();
    const token = await own(store);
    const others = Array.from({ length: 150 }, () => message({ key: 'b' }));
    await store.publish([...others, message({ key: 'a' }), message({ key: 'b' })], call);
    const sealed = { outcome: 'sealed', lastSeq: 1 };
    expect(await store.seal(0, 'a', 1, call)).toEqual({ ...sealed, drained: false });
    const messages = await read(store, token);
    const finish = async (positions: readonly string[]) => {
      const request = { shard: 0, token, acknowledge: positions, after: undefined, limit: 100 };
      await store.step([request], call);
      const result = await store.seal(0, 'a', 1, call);
      return result.outcome === 'sealed' && result.drained;
    };
    expect(await finish(messages.map(({ position }) => position))).toBe(false);
    const rest = await read(store, token);
    const ofA = rest.filter(({ key }) => key === 'a').map(({ position }) => position);
    expect(ofA).toHaveLength(1);
    expect(await finish(ofA)).toBe(true);
  });
});
