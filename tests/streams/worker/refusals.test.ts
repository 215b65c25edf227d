import { describe, expect, it } from 'vitest';
import { Holder } from '../../../src/coordinators/index.js';
import { memoryFence } from '../../../src/fences/memory/index.js';
import { shardLeaseName } from '../../../src/shards/index.js';
import { StreamWorker, type StreamWorkerOptions, Topic } from '../../../src/streams/index.js';
import { World } from './fixture.js';
import { defined } from './process.js';

const shardCount = 4;
/** Far above what a coordinator grants that lost its data. */
const term = 2 ** 45;

/** One worker of a topic of four shards, with a message in each shard. */
async function setUp(options: Partial<StreamWorkerOptions<never>> = {}) {
  const world = new World();
  const process = world.process('a');
  const { runtime } = world;
  const topic = new Topic(process.store, { runtime, shardCount });
  const keys = Array.from({ length: 40 }, (_, index) => `key-${index}`);
  await runtime.advanceUntil(
    topic.publishMany(keys.map((key) => ({ key, id: '1', payload: null }))),
  );
  const handled: number[] = [];
  const worker = new StreamWorker<never>({
    topic,
    leases: process.leases,
    group: 'group',
    handler: ({ shard }) => handled.push(shard),
    ...options,
  });
  const refused: string[] = [];
  worker.events.on('shardRefused', ({ shard, by }) => refused.push(`${shard} ${by}`));
  return { world, worker, topic, handled, refused };
}

describe('a term that fell below what is installed', () => {
  it('heals upward when the fence has seen a higher one', async () => {
    const fence = memoryFence();
    const { world, worker, handled, refused } = await setUp({ fence });
    const holder = Holder.create('other', world.runtime);
    await fence.claim({ name: shardLeaseName('group', 1), term, holder });
    await world.runtime.advanceUntil(worker.start());
    await world.runtime.advance(10_000);
    expect(handled).toHaveLength(40);
    expect(refused).toEqual(['1 fence']);
    expect(defined(worker.shards.find(({ shard }) => shard === 1)).term).toBeGreaterThan(term);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('heals upward when the log has seen a higher one', async () => {
    const { world, worker, handled, refused } = await setUp();
    const { digest: holderDigest } = Holder.create('other', world.runtime);
    world.streams.log(1).install({ term, holderDigest });
    await world.runtime.advanceUntil(worker.start());
    await world.runtime.advance(10_000);
    expect(handled).toHaveLength(40);
    expect(refused).toEqual(['1 log']);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('heals upward when only the handler knows the fence', async () => {
    const fence = memoryFence();
    const applied: number[] = [];
    const { world, worker, refused } = await setUp({
      handler: ({ shard }, { lease }) =>
        fence.transaction(lease, async () => void applied.push(shard)),
    });
    const holder = Holder.create('other', world.runtime);
    await fence.claim({ name: shardLeaseName('group', 1), term, holder });
    await world.runtime.advanceUntil(worker.start());
    await world.runtime.advance(20_000);
    expect(applied).toHaveLength(40);
    // Once by the handler; the next lease, if it is still too low, is not even tried there.
    expect(refused.length).toBeLessThanOrEqual(2);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('is told to who asked for the shard to begin, not only reported', async () => {
    const world = new World();
    const fence = memoryFence();
    const worker = world.worker('a', () => {}, { fence });
    const holder = Holder.create('other', world.runtime);
    await fence.claim({ name: shardLeaseName('group', 1), term, holder });
    const { leases } = worker.process;
    const acquire = async (shard: number) => {
      const lease = await world.runtime.advanceUntil(
        leases.acquire(shardLeaseName('group', shard)),
      );
      return { shard, lease: defined(lease) };
    };
    const owned = [await acquire(1), await acquire(2)];
    const refused = await world.runtime.advanceUntil(worker.work.begin(owned));
    expect(refused).toEqual([{ shard: owned[0], installedTerm: term }]);
    expect(owned.map(({ lease }) => lease.endReason)).toEqual(['superseded', undefined]);
    await world.runtime.advanceUntil(worker.stop());
  });
});

describe('a worker that counts other shards than the topic', () => {
  it('is not started', async () => {
    const { world, worker, topic } = await setUp();
    const process = world.process('b');
    const wrong = new StreamWorker({
      topic: new Topic(process.store, { runtime: world.runtime, shardCount: 8 }),
      leases: process.leases,
      group: 'group',
      handler: () => {},
    });
    await expect(world.runtime.advanceUntil(wrong.start())).rejects.toMatchObject({
      option: 'shardCount',
      value: 8,
    });
    await world.runtime.advanceUntil(wrong.stop());
    await world.runtime.advanceUntil(worker.start());
    await world.runtime.advance(5_000);
    expect((await world.runtime.advanceUntil(topic.backlog())).count).toBe(0);
    await world.runtime.advanceUntil(worker.stop());
  });
});
