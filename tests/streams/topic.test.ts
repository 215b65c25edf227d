import { describe, expect, it } from 'vitest';
import {
  ClosedError,
  KeyMovingError,
  OptionError,
  OutcomeUnknownError,
  RecordCorruptError,
  SequenceGapError,
  StoreMisconfiguredError,
  UnreachableError,
} from '../../src/errors/index.js';
import { Pins, shardOf } from '../../src/shards/index.js';
import { MemoryStreams, memoryStreams } from '../../src/streams/memory/index.js';
import { Topic, type TopicEvents, type TopicOptions } from '../../src/streams/topic.js';
import { altered } from '../support/altered.js';
import { World } from './worker/fixture.js';
import type { TestProcess } from './worker/process.js';

const all = (count: number) => Array.from({ length: count }, (_, index) => index);

interface Setup {
  readonly world: World;
  readonly process: TestProcess;
  readonly topic: Topic;
  /** The ids of each request, as the store was sent them. */
  readonly batches: string[][];
}

function setUp(options: Partial<TopicOptions> = {}): Setup {
  const world = new World();
  const process = world.process('publisher');
  const batches: string[][] = [];
  const store = altered(process.store, {
    publish: (requests, call) => {
      batches.push(requests.map(({ id }) => id));
      return process.store.publish(requests, call);
    },
  });
  const topic = new Topic(store, { runtime: world.runtime, ...options });
  return { world, process, topic, batches };
}

/** As {@link setUp}, after a first publish: what follows begins with the request that carries the message. */
async function setUpWarm(options: Partial<TopicOptions> = {}): Promise<Setup> {
  const setup = setUp(options);
  await setup.topic.publish({ key: 'first', id: '1', payload: 0 });
  setup.batches.length = 0;
  return setup;
}

/** What a promise was rejected with. */
async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('publishing', () => {
  it('appends to the shard of the key, and says under which number', async () => {
    const { topic, world } = setUp();
    const receipt = await topic.publish({ key: 'customer-1', id: 'a', payload: { total: 3 } });
    expect(receipt).toEqual({ seq: 1, duplicate: false, shard: shardOf('customer-1') });
    expect(world.streams.log(receipt.shard).oldest).toMatchObject({ payload: '{"total":3}' });
    expect(await topic.publish({ key: 'customer-1', id: 'b', payload: null })).toMatchObject({
      seq: 2,
    });
    expect(await topic.publish({ key: 'customer-1', id: 'a', payload: null })).toEqual({
      seq: 1,
      duplicate: true,
      shard: receipt.shard,
    });
  });

  it('sends what is published at one time in one request, in order', async () => {
    const { topic, batches } = setUp();
    await Promise.all(
      all(100).map((index) => topic.publish({ key: `k${index % 3}`, id: `${index}`, payload: 0 })),
    );
    expect(batches).toHaveLength(1);
    const byKey = (remainder: number) => batches[0]?.filter((id) => Number(id) % 3 === remainder);
    for (const remainder of all(3)) {
      const expected = all(100).filter((index) => index % 3 === remainder);
      expect(byKey(remainder)).toEqual(expected.map(String));
    }
  });

  it('keeps the order of a key that fills several requests', async () => {
    const { topic, world, batches } = setUp();
    const receipts = await topic.publishMany(
      all(2_000).map((index) => ({ key: 'k', id: `${index}`, payload: index })),
    );
    expect(receipts.map(({ seq }) => seq)).toEqual(all(2_000).map((index) => index + 1));
    expect(batches.length).toBeGreaterThan(1);
    expect(world.streams.log(shardOf('k')).messageCount).toBe(2_000);
  });

  it('takes the numbers of a publisher that counts by itself', async () => {
    const { topic } = setUp();
    await topic.publish({ key: 'k', id: 'a', payload: 0, seq: 1 });
    const gap = await failure(topic.publish({ key: 'k', id: 'c', payload: 0, seq: 3 }));
    expect(gap).toBeInstanceOf(SequenceGapError);
    expect(gap).toMatchObject({ lastSeq: 1 });
    const repeated = await topic.publish({ key: 'k', id: 'other', payload: 0, seq: 1 });
    expect(repeated).toMatchObject({ seq: 1, duplicate: true });
  });

  it.each([
    ['key', { key: '' }],
    ['key', { key: 'x'.repeat(513) }],
    ['key', { key: 'nul\0' }],
    ['id', { id: '' }],
    ['id', { id: 'é'.repeat(128) }],
    ['seq', { seq: 0 }],
    ['seq', { seq: 1.5 }],
    ['payload', { payload: undefined }],
    ['payload', { payload: () => {} }],
    ['payload', { payload: Symbol('s') }],
    ['payload', { payload: 10n }],
    ['payload', { payload: { amount: 10n } }],
    ['payload', { payload: 'é'.repeat(131_072) }],
  ])('refuses a bad %s before anything is sent (%#)', async (option, part) => {
    const { topic, batches } = setUp();
    const error = await failure(topic.publish({ key: 'k', id: 'i', payload: 1, ...part }));
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ option });
    expect((error as OptionError).remedy).not.toBe('');
    expect(batches).toEqual([]);
  });

  it('refuses a cyclic payload, and everything else that was given with it', async () => {
    const { topic, batches } = setUp();
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const messages = [
      { key: 'a', id: '1', payload: 1 },
      { key: 'b', id: '1', payload: cyclic },
    ];
    expect(await failure(topic.publishMany(messages))).toMatchObject({ option: 'payload' });
    expect(batches).toEqual([]);
  });

  it('lets the largest payload pass', async () => {
    const { topic } = setUp({ largestPayloadBytes: 10 });
    await topic.publish({ key: 'k', id: 'a', payload: '12345678' });
    const error = await failure(topic.publish({ key: 'k', id: 'b', payload: '123456789' }));
    expect(error).toMatchObject({ option: 'payload', value: '11 bytes of JSON' });
  });

  it('keeps a message that only the store refuses from failing the others of its request', async () => {
    const { topic } = setUp({ largestPayloadBytes: 1024 * 1024 });
    const large = topic.publish({ key: 'large', id: '1', payload: 'x'.repeat(300 * 1024) });
    const small = topic.publish({ key: 'small', id: '1', payload: 'x' });
    expect(await failure(large)).toBeInstanceOf(OptionError);
    expect(await small).toMatchObject({ seq: 1 });
  });
});

describe('publishing over a bad network', () => {
  it('tries again with the same id when the outcome is unknown, and appends once', async () => {
    const { topic, world, process } = await setUpWarm({ timeoutMs: 10_000, attemptTimeoutMs: 500 });
    process.streamLink.disturb('reply', 'drop', { count: 2 });
    const receipts = await world.runtime.advanceUntil(
      Promise.all(all(5).map((index) => topic.publish({ key: 'k', id: `${index}`, payload: 0 }))),
    );
    expect(receipts.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    expect(world.streams.log(shardOf('k')).messageCount).toBe(5);
  });

  it('does not let a later message of the key overtake one that has to be sent again', async () => {
    const { topic, world, process, batches } = await setUpWarm({ attemptTimeoutMs: 500 });
    process.streamLink.disturb('request', 'drop', { count: 1 });
    const first = topic.publish({ key: 'k', id: 'first', payload: 0 });
    await world.runtime.advance(100);
    const second = topic.publish({ key: 'k', id: 'second', payload: 0 });
    await world.runtime.advance(100);
    expect(batches).toEqual([['first']]);
    const receipts = await world.runtime.advanceUntil(Promise.all([first, second]));
    expect(receipts.map(({ seq }) => seq)).toEqual([1, 2]);
  });

  it('says that the outcome is unknown when the budget is spent, and what to do', async () => {
    const { topic, world, process } = await setUpWarm({ timeoutMs: 2_000 });
    process.streamLink.disturb('reply', 'drop');
    const error = await world.runtime.advanceUntil(
      failure(topic.publish({ key: 'k', id: 'a', payload: 0 })),
    );
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(String(error)).toContain('Publish again with the same id');
    expect(world.runtime.now().monotonicMs).toBeLessThanOrEqual(2_001);
    process.streamLink.heal();
    expect(
      await world.runtime.advanceUntil(topic.publish({ key: 'k', id: 'a', payload: 0 })),
    ).toMatchObject({ seq: 1, duplicate: true });
  });

  it('says that nothing was appended when the store could not be reached', async () => {
    const { topic, world, process } = await setUpWarm();
    process.streamLink.cut();
    const publish = topic.publish({ key: 'k', id: 'a', payload: 0 }, { timeoutMs: 700 });
    expect(await world.runtime.advanceUntil(failure(publish))).toBeInstanceOf(UnreachableError);
    expect(world.runtime.now().monotonicMs).toBeLessThanOrEqual(701);
  });

  it.each([
    ['closed', new ClosedError('the store')],
    ['misconfigured', new StoreMisconfiguredError('it is a replica')],
    ['corrupt', new RecordCorruptError('not ours')],
  ])('keeps an outcome unknown when the next try finds the store %s', async (_what, cause) => {
    const { topic, world, process } = await setUpWarm({ attemptTimeoutMs: 500 });
    process.streamLink.disturb('reply', 'drop', { count: 1 });
    const publish = failure(topic.publish({ key: 'k', id: 'a', payload: 0 }));
    await world.runtime.advance(100);
    process.store.publish = async () => {
      throw cause;
    };
    const error = await world.runtime.advanceUntil(publish);
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ cause });
    expect(String(error)).toContain('Publish again with the same id');
    const other = failure(topic.publish({ key: 'other', id: 'a', payload: 0 }));
    expect(await world.runtime.advanceUntil(other)).toBe(cause);
  });

  it('rejects only the message whose log is not ours', async () => {
    const { topic, world, process } = await setUpWarm();
    const { store } = process;
    const honest = store.publish.bind(store);
    store.publish = async (requests, call) => {
      const results = await honest(requests, call);
      return results.map((result, index) =>
        requests[index]?.key === 'foreign' ? { outcome: 'corrupt', detail: 'a list' } : result,
      );
    };
    const keys = ['a', 'foreign', 'b'];
    const publishes = keys.map((key) => failure(topic.publish({ key, id: '1', payload: 0 })));
    const errors = await world.runtime.advanceUntil(Promise.all(publishes));
    expect(errors[0]).toBeUndefined();
    expect(errors[1]).toBeInstanceOf(RecordCorruptError);
    expect(String(errors[1])).toContain('a list');
    expect(errors[2]).toBeUndefined();
  });

  it('settles each publish at its own deadline, even while a request hangs', async () => {
    const { topic, world, process } = await setUpWarm({
      timeoutMs: 60_000,
      attemptTimeoutMs: 10_000,
    });
    process.streamLink.hang();
    const settledAt = new Map<string, number>();
    for (const [id, timeoutMs] of [
      ['long', 3_000],
      ['short', 1_000],
    ] as const) {
      void failure(topic.publish({ key: id, id, payload: 0 }, { timeoutMs })).then((error) => {
        expect(error).toBeInstanceOf(OutcomeUnknownError);
        settledAt.set(id, world.runtime.now().monotonicMs);
      });
    }
    await world.runtime.advance(5_000);
    expect([...settledAt]).toEqual([
      ['short', 1_000],
      ['long', 3_000],
    ]);
  });

  it('keeps nothing pending once all has settled', async () => {
    const { topic, world, process } = await setUpWarm({ timeoutMs: 5_000, attemptTimeoutMs: 300 });
    process.streamLink.disturb('reply', 'drop', { count: 3 });
    const many = all(50).map((index) => ({ key: `k${index}`, id: '1', payload: index }));
    await world.runtime.advanceUntil(topic.publishMany(many));
    await world.runtime.advance(2_000);
    expect(world.runtime.pendingTimerCount).toBe(0);
  });
});

describe('the shard count of a topic', () => {
  it('is that of whoever published first: another one is refused, with both and the remedy', async () => {
    const { topic, world, batches } = setUp({ shardCount: 8 });
    await world.topic({ shardCount: 4 }).publish({ key: 'k', id: 'a', payload: 0 });
    const errors = await Promise.all(
      all(3).map((index) => failure(topic.publish({ key: `k${index}`, id: 'b', payload: 0 }))),
    );
    for (const error of errors) {
      expect(error).toBeInstanceOf(OptionError);
      expect(error).toMatchObject({ option: 'shardCount', value: 8 });
      expect(String(error)).toContain('(4)');
    }
    expect(batches).toEqual([]);
  });

  it('is asked for again when there was no answer, and nothing was published meanwhile', async () => {
    const { topic, world, process } = setUp({ timeoutMs: 5_000, attemptTimeoutMs: 500 });
    process.streamLink.disturb('reply', 'drop', { count: 2 });
    const publish = topic.publish({ key: 'k', id: 'a', payload: 0 });
    expect(await world.runtime.advanceUntil(publish)).toMatchObject({ seq: 1, duplicate: false });
    const late = setUp({ timeoutMs: 1_000 });
    late.process.streamLink.hang();
    const lost = failure(late.topic.publish({ key: 'k', id: 'b', payload: 0 }));
    expect(await late.world.runtime.advanceUntil(lost)).toBeInstanceOf(UnreachableError);
  });
});

describe('a publish whose budget ends while the store is asked for the shard count', () => {
  it('is not sent afterwards, since its caller was told so', async () => {
    const { topic, world, process, batches } = setUp({
      timeoutMs: 10_000,
      attemptTimeoutMs: 5_000,
    });
    process.streamLink.disturb('reply', 'hold', { count: 1 });
    const message = { key: 'k', id: 'a', payload: 0 };
    const lost = failure(topic.publish(message, { timeoutMs: 500 }));
    const later = topic.publish({ key: 'k', id: 'b', payload: 0 });
    expect(await world.runtime.advanceUntil(lost)).toBeInstanceOf(UnreachableError);
    process.streamLink.heal();
    process.streamLink.flush();
    expect(await world.runtime.advanceUntil(later)).toMatchObject({ seq: 1 });
    expect(batches).toEqual([['b']]);
  });
});

describe('a topic', () => {
  it.each([undefined, null, {}, 'redis://localhost'])(
    'is refused on what is no store: %s',
    (store) => {
      const create = () => new Topic(store as never);
      expect(create).toThrow(OptionError);
      expect(create).toThrow('store is no stream store');
    },
  );
});

describe('the budget of a publish', () => {
  it('is no longer than the store remembers an id, or a retry would be appended twice', async () => {
    const world = new World();
    const streams = new MemoryStreams({ runtime: world.runtime, dedupeWindowMs: 5_000 });
    const store = memoryStreams(streams);
    const create = (timeoutMs: number) => new Topic(store, { runtime: world.runtime, timeoutMs });
    expect(() => create(5_001)).toThrow(OptionError);
    expect(() => create(5_001)).toThrow('dedupeWindowMs');
    const topic = create(5_000);
    const message = { key: 'k', id: 'a', payload: 0 };
    expect(await failure(topic.publish(message, { timeoutMs: 6_000 }))).toMatchObject({
      option: 'timeoutMs',
    });
    expect(await topic.publish(message)).toMatchObject({ seq: 1 });
  });
});

describe('a key whose pin changes while an outcome is unknown', () => {
  it('is asked for at its old shard first, since only that one can know the message', async () => {
    const { world, process } = setUp();
    const { coordinator } = process.leases;
    const pins = await world.runtime.advanceUntil(
      Pins.load({ coordinator, group: 'orders', runtime: world.runtime }),
    );
    const topic = new Topic(process.store, { runtime: world.runtime, pins });
    await world.runtime.advanceUntil(topic.publish({ key: 'first', id: '1', payload: 0 }));
    process.streamLink.disturb('reply', 'drop', { count: 1 });
    const publish = topic.publish({ key: 'k', id: 'a', payload: 0 });
    await world.runtime.advance(100);
    await world.runtime.advanceUntil(pins.beginMove('k', 300));
    await world.runtime.advanceUntil(pins.finishMove('k', 300));
    const home = shardOf('k');
    expect(topic.shardOf('k')).toBe(300);
    expect(await world.runtime.advanceUntil(publish)).toEqual({
      seq: 1,
      duplicate: true,
      shard: home,
    });
  });
});

describe('a key that is sealed', () => {
  it('is tried until it opens', async () => {
    const { topic, world } = setUp();
    const log = world.streams.log(shardOf('k'));
    log.seal('k', 0);
    const publish = topic.publish({ key: 'k', id: 'a', payload: 0 });
    await world.runtime.advance(3_000);
    log.open('k', 7, 0);
    expect(await world.runtime.advanceUntil(publish)).toMatchObject({ seq: 8 });
  });

  it('ends in a KeyMovingError when the budget is spent, and holds up no other key', async () => {
    const { topic, world } = setUp();
    world.streams.log(shardOf('k')).seal('k', 0);
    const publish = failure(topic.publish({ key: 'k', id: 'a', payload: 0 }, { timeoutMs: 500 }));
    expect(await topic.publish({ key: 'other', id: 'a', payload: 0 })).toMatchObject({ seq: 1 });
    expect(await world.runtime.advanceUntil(publish)).toBeInstanceOf(KeyMovingError);
  });
});

describe('the backlog', () => {
  it('counts unfinished messages per shard and in sum, and tells the age of the oldest', async () => {
    const { topic, world } = setUp({ shardCount: 4 });
    await topic.publish({ key: 'a', id: '1', payload: 0 });
    await world.runtime.advance(5_000);
    await topic.publishMany(all(9).map((index) => ({ key: `k${index}`, id: '1', payload: 0 })));
    const backlog = await world.runtime.advanceUntil(topic.backlog());
    expect(backlog.count).toBe(10);
    expect(backlog.oldestAgeMs).toBe(5_000);
    expect(backlog.shards.map(({ shard }) => shard)).toEqual([0, 1, 2, 3]);
    expect(backlog.shards.reduce((sum, { count }) => sum + count, 0)).toBe(10);
  });
});

describe('the events of a topic', () => {
  it('tell for each request how many messages were appended, and how many were there already', async () => {
    const { world, topic } = setUp();
    const { runtime } = world;
    const told: TopicEvents['published'][] = [];
    const stop = topic.events.on('published', (event) => told.push(event));
    const messages = all(3).map((index) => ({ key: `k${index}`, id: 'a', payload: index }));
    await runtime.advanceUntil(topic.publishMany(messages));
    await runtime.advanceUntil(topic.publishMany([...messages, { key: 'k', id: 'a', payload: 3 }]));
    stop();
    await runtime.advanceUntil(topic.publish({ key: 'k', id: 'b', payload: 4 }));
    expect(told).toEqual([
      { appendedCount: 3, duplicateCount: 0 },
      { appendedCount: 1, duplicateCount: 3 },
    ]);
  });
});
