import { describe, expect, it } from 'vitest';
import { Holder } from '../../../src/coordinators/index.js';
import { OutcomeUnknownError } from '../../../src/errors/index.js';
import type { DeliveredMessage } from '../../../src/streams/worker/message.js';
import { sleep } from '../../../src/time/index.js';
import { altered } from '../../support/altered.js';
import { type TestWorker, World } from './fixture.js';
import { defined } from './process.js';

const all = (count: number) => Array.from({ length: count }, (_, index) => index);

function append(world: World, shard: number, count: number, from = 0): void {
  for (const index of all(count)) {
    const request = { shard, key: 'k', id: String(from + index), payload: '{}' };
    world.streams.log(shard).append(request, world.streams.time);
  }
}

const steps = (worker: TestWorker) => worker.process.calls.get('step') ?? 0;

describe('requests to the log', () => {
  it('are fewer than one a second for an idle worker of 256 shards', async () => {
    const world = new World();
    const worker = world.worker('a', () => {});
    await world.runtime.advanceUntil(worker.claim(...all(256)));
    await world.runtime.advance(100);
    worker.process.calls.clear();
    await world.runtime.advance(60_000);
    const callCount = [...worker.process.calls.values()].reduce((sum, count) => sum + count, 0);
    expect(callCount).toBeGreaterThanOrEqual(10);
    expect(callCount).toBeLessThanOrEqual(16);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('carry many acknowledgements of many shards each', async () => {
    const world = new World();
    const worker = world.worker('a', () => {});
    for (const shard of all(16)) append(world, shard, 200);
    await world.runtime.advanceUntil(worker.claim(...all(16)));
    await world.runtime.advance(1_000);
    const handledCount = worker
      .eventsOf('handled')
      .reduce((sum, { messageCount }) => sum + messageCount, 0);
    expect(handledCount).toBe(3_200);
    expect(steps(worker)).toBeLessThan(40);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('are one at a time', async () => {
    const world = new World();
    let underWay = 0;
    let mostUnderWay = 0;
    const { store } = world.process('a-store');
    const worker = world.worker('a', async () => sleep(world.runtime, world.runtime.random() * 5), {
      store: altered(store, {
        step: async (requests, call) => {
          mostUnderWay = Math.max(mostUnderWay, ++underWay);
          await sleep(world.runtime, 3);
          return store.step(requests, call).finally(() => underWay--);
        },
      }),
    });
    for (const shard of all(8)) append(world, shard, 50);
    await world.runtime.advanceUntil(worker.claim(...all(8)));
    await world.runtime.advance(2_000);
    expect(mostUnderWay).toBe(1);
    for (const shard of all(8)) expect(world.streams.log(shard).messageCount).toBe(0);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('read no more than fits: neither a shard nor the worker exceeds its bound', async () => {
    const world = new World();
    const worker = world.worker('a', () => new Promise(() => {}), {
      prefetchCount: 10,
      maxBufferedCount: 5,
    });
    for (const shard of all(8)) append(world, shard, 100);
    await world.runtime.advanceUntil(worker.claim(...all(8)));
    await world.runtime.advance(30_000);
    const counts = [...worker.work.pump.runners].map(({ intake }) => intake.count);
    expect(Math.max(...counts)).toBeLessThanOrEqual(10);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(5 + 8);
    // Every shard has been served although the others could have filled the memory.
    expect([...worker.work.pump.runners].every(({ current }) => current !== undefined)).toBe(true);
  });

  it('find everything although answers are cut short', async () => {
    const world = new World();
    const seen: string[] = [];
    const { store } = world.process('a-store');
    const worker = world.worker('a', ({ id }: DeliveredMessage) => seen.push(id), {
      store: altered(store, {
        step: (requests, call) =>
          store.step(
            requests.map((request) => ({ ...request, limit: Math.min(1, request.limit) })),
            call,
          ),
      }),
    });
    append(world, 1, 40);
    await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(100);
    expect(seen).toEqual(all(40).map(String));
    await world.runtime.advanceUntil(worker.stop());
  });
});

describe('answers that are too large for the time they have', () => {
  it('are asked for in smaller ones, until they arrive', async () => {
    const world = new World();
    const { store } = world.process('a-store');
    const asked: number[] = [];
    let handledCount = 0;
    const worker = world.worker('a', () => handledCount++, {
      store: altered(store, {
        step: async (requests, call) => {
          const readCount = requests.reduce((sum, { limit }) => sum + limit, 0);
          asked.push(readCount);
          if (readCount > 5) throw new OutcomeUnknownError('no answer in time');
          return store.step(requests, call);
        },
      }),
    });
    for (const shard of all(16)) append(world, shard, 20);
    await world.runtime.advanceUntil(worker.claim(...all(16)));
    await world.runtime.advance(600_000);
    expect(asked[0]).toBe(16 * 32);
    expect(handledCount).toBe(16 * 20);
    await world.runtime.advanceUntil(worker.stop());
  });
});

describe('the bell of the store', () => {
  it('wakes an idle shard at once', async () => {
    const world = new World();
    const topic = world.topic();
    const seen: number[] = [];
    const worker = world.worker('a', ({ shard }: DeliveredMessage) => seen.push(shard));
    await world.runtime.advanceUntil(worker.claim(...all(256)));
    await world.runtime.advance(100);
    await topic.publish({ key: 'x', id: '1', payload: 1 });
    await world.runtime.settle();
    expect(seen).toEqual([topic.shardOf('x')]);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('may be lost: the next sweep finds the message', async () => {
    const world = new World();
    const seen: string[] = [];
    const worker = world.worker('a', ({ id }: DeliveredMessage) => seen.push(id));
    await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(100);
    append(world, 1, 3);
    await world.runtime.advance(7_000);
    expect(seen).toEqual(['0', '1', '2']);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('is not needed while the log is not empty', async () => {
    const world = new World();
    const seen: string[] = [];
    const worker = world.worker('a', async ({ id }: DeliveredMessage) => {
      seen.push(id);
      await sleep(world.runtime, 20);
    });
    append(world, 1, 1);
    await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(10);
    append(world, 1, 3, 1);
    await world.runtime.advance(200);
    expect(seen).toEqual(['0', '1', '2', '3']);
    await world.runtime.advanceUntil(worker.stop());
  });
});

describe('a log that cannot be reached', () => {
  it.each(['drop the request', 'drop the reply', 'cut'])('is asked again: %s', async (fault) => {
    const world = new World();
    const seen: string[] = [];
    const worker = world.worker('a', async ({ id }: DeliveredMessage) => {
      await sleep(world.runtime, 50);
      seen.push(id);
    });
    append(world, 1, 60);
    await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(500);
    const { streamLink } = worker.process;
    if (fault === 'cut') streamLink.cut();
    else streamLink.disturb(fault === 'drop the reply' ? 'reply' : 'request', 'drop');
    await world.runtime.advance(1_000);
    streamLink.heal();
    await world.runtime.advance(10_000);
    expect(seen).toEqual(all(60).map(String));
    expect(worker.eventsOf('storeFailed').length).toBeGreaterThan(0);
    expect(world.streams.log(1).messageCount).toBe(0);
    await world.runtime.advanceUntil(worker.stop());
  });
});

describe('a log that lost its last messages and whose clock was set back', () => {
  it('is read from its head, so that what it appends now is not taken for old', async () => {
    const world = new World();
    const seen: string[] = [];
    const { store } = world.process('a-store');
    let isSetBack = false;
    const worker = world.worker('a', ({ id }: DeliveredMessage) => seen.push(id), {
      store: altered(store, {
        step: (requests, call) =>
          store.step(
            // Every position that is given out from now on is below those that were given out before.
            requests.map((request) =>
              isSetBack && request.after !== undefined ? { ...request, limit: 0 } : request,
            ),
            call,
          ),
      }),
    });
    append(world, 1, 3);
    await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(100);
    isSetBack = true;
    append(world, 1, 3, 10);
    await world.runtime.advance(7_000);
    expect(seen).toEqual(['0', '1', '2', '10', '11', '12']);
    await world.runtime.advanceUntil(worker.stop());
  });
});

describe('a log that lost its state', () => {
  it('is made ours again, and nothing that was published since is missed', async () => {
    const world = new World();
    const seen: string[] = [];
    const worker = world.worker('a', async ({ id }: DeliveredMessage) => {
      await sleep(world.runtime, 100);
      seen.push(id);
    });
    append(world, 1, 3);
    const [owned] = await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(50);
    world.streams.restart({ keepData: false });
    append(world, 1, 2, 10);
    await world.runtime.advance(1_000);
    expect(seen).toEqual(['0', '10', '11']);
    expect(defined(owned).lease.state).toBe('held');
    expect(worker.eventsOf('logReset')).toHaveLength(1);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('hears of nothing that was read before, since it may use old positions anew', async () => {
    const world = new World();
    const seen: string[] = [];
    const worker = world.worker('a', async ({ id }: DeliveredMessage) => {
      seen.push(id);
      await sleep(world.runtime, 1_000);
    });
    append(world, 1, 1);
    await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(50);
    world.streams.restart({ keepData: false });
    append(world, 1, 1, 10);
    // The end of message 0, at the position where message 10 stands now.
    await world.runtime.advance(1_000);
    expect(seen).toEqual(['0', '10']);
    expect(world.streams.log(1).messageCount).toBe(1);
    await world.runtime.advance(1_000);
    expect(world.streams.log(1).messageCount).toBe(0);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('does not keep a drain waiting for messages that are no more', async () => {
    const world = new World();
    const worker = world.worker('a', async () => sleep(world.runtime, 100));
    append(world, 1, 3);
    await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(50);
    const given = worker.giveBack(1);
    world.streams.restart({ keepData: false });
    await world.runtime.advanceUntil(given, 5_000);
    expect(worker.eventsOf('logReset')).toHaveLength(1);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('is given up if it obeys somebody else', async () => {
    const world = new World();
    const worker = world.worker('a', () => {});
    const [owned] = await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(50);
    const { lease } = defined(owned);
    const other = { term: lease.term + 5, holderDigest: Holder.create('b', world.runtime).digest };
    world.streams.log(1).install(other);
    await world.runtime.advance(7_000);
    expect(lease.endReason).toBe('superseded');
    expect(worker.eventsOf('shardRefused')).toMatchObject([
      { shard: 1, by: 'log', installedTerm: other.term },
    ]);
    await world.runtime.advanceUntil(worker.stop());
  });
});

describe('a worker that has stopped', () => {
  it('leaves nothing behind, however often it was started', async () => {
    const world = new World();
    append(world, 1, 500);
    for (const _round of all(30)) {
      const worker = world.worker('a', async () => sleep(world.runtime, 7));
      await world.runtime.advanceUntil(worker.claim(1, 2, 3));
      await world.runtime.advance(world.runtime.random() * 50);
      await world.runtime.advanceUntil(worker.stop());
      await worker.process.store.close();
      await worker.process.leases.coordinator.close();
      expect(world.runtime.pendingTimerCount).toBe(0);
    }
    expect(world.streams.log(1).messageCount).toBeLessThan(500);
  });
});
