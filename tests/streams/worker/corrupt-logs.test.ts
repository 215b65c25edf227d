import { describe, expect, it } from 'vitest';
import type { StreamStore } from '../../../src/streams/contract.js';
import type { DeliveredMessage } from '../../../src/streams/worker/message.js';
import { altered } from '../../support/altered.js';
import { World } from './fixture.js';

const corrupt = { outcome: 'corrupt', detail: 'a list stands there' } as const;

/** Something foreign is in the log of shard 1, as long as the test wants it. */
function setUp() {
  const world = new World();
  const foreign = { inStep: false, inInstall: false };
  const handled: string[] = [];
  let askedCount = 0;
  const { store } = world.process('a-store');
  const answers: Partial<StreamStore> = {
    step: async (requests, call) => {
      if (!foreign.inStep) return store.step(requests, call);
      if (requests.some(({ shard }) => shard === 1)) askedCount += 1;
      const ours = requests.filter(({ shard }) => shard !== 1);
      const results = await store.step(ours, call);
      return requests.map(({ shard }) => (shard === 1 ? corrupt : (results.shift() ?? corrupt)));
    },
    install: async (requests, call) => {
      const ours = requests.filter(({ shard }) => shard !== 1 || !foreign.inInstall);
      const results = await store.install(ours, call);
      return requests.map((request) =>
        ours.includes(request) ? (results.shift() ?? corrupt) : corrupt,
      );
    },
  };
  const worker = world.worker(
    'a',
    ({ id, shard }: DeliveredMessage) => handled.push(`${shard} ${id}`),
    {
      store: altered(store, answers),
    },
  );
  const append = (shard: number, id: string) => {
    const log = world.streams.log(shard);
    log.append({ shard, key: 'k', id, payload: '{}' }, world.streams.time);
    world.streams.ring(shard);
  };
  return { world, worker, foreign, handled, append, asked: () => askedCount };
}

describe('something foreign in the log of one shard', () => {
  it('stops that shard alone, is reported again and again, and is got over once it is gone', async () => {
    const { world, worker, foreign, handled, append, asked } = setUp();
    await world.runtime.advanceUntil(worker.claim(1, 2, 3));
    await world.runtime.advance(10);
    foreign.inStep = true;
    for (const id of ['a', 'b']) for (const shard of [1, 2, 3]) append(shard, id);
    await world.runtime.advance(60_000);
    expect(handled.sort()).toEqual(['2 a', '2 b', '3 a', '3 b']);
    const reports = worker.eventsOf('logCorrupt');
    expect(reports[0]).toMatchObject({ shard: 1, detail: corrupt.detail });
    expect(reports.length).toBeGreaterThanOrEqual(4);
    expect(asked()).toBe(reports.length);
    expect(asked()).toBeLessThan(12);
    foreign.inStep = false;
    await world.runtime.advance(31_000);
    expect(handled).toContain('1 a');
    expect(handled).toContain('1 b');
    await world.runtime.advanceUntil(worker.stop());
  });

  it('does not keep the shard from being given back, nor leaves a timer behind', async () => {
    const { world, worker, foreign, append, asked } = setUp();
    await world.runtime.advanceUntil(worker.claim(1, 2));
    await world.runtime.advance(10);
    append(1, 'a');
    await world.runtime.settle();
    foreign.inStep = true;
    append(1, 'b');
    await world.runtime.advance(1_000);
    expect(asked()).toBeGreaterThan(0);
    await world.runtime.advanceUntil(worker.stop(), 1_000);
    await worker.process.leases.coordinator.close();
    expect(world.runtime.pendingTimerCount).toBe(0);
  });

  it('keeps only that shard from being begun, and is tried again', async () => {
    const { world, worker, foreign, handled, append } = setUp();
    foreign.inInstall = true;
    for (const shard of [1, 2]) append(shard, 'a');
    const owned = await world.runtime.advanceUntil(worker.claim(1, 2));
    await world.runtime.advance(1_000);
    expect(handled).toEqual(['2 a']);
    expect(worker.eventsOf('logCorrupt')).not.toEqual([]);
    expect(owned.map(({ lease }) => lease.state)).toEqual(['held', 'held']);
    foreign.inInstall = false;
    await world.runtime.advance(10_000);
    expect(handled).toEqual(['2 a', '1 a']);
    await world.runtime.advanceUntil(worker.stop());
  });
});
