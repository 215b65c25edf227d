import { expect, it } from 'vitest';
import { Holder } from '../../../src/coordinators/index.js';
import { memoryCoordinator } from '../../../src/coordinators/memory/index.js';
import { memoryFence } from '../../../src/fences/memory/index.js';
import { Leases } from '../../../src/leases/index.js';
import { shardLeaseName } from '../../../src/shards/index.js';
import { StreamWorker, Topic } from '../../../src/streams/index.js';
import { memoryStreams } from '../../../src/streams/memory/index.js';
import { realRuntime } from '../../../src/time/index.js';

it('a stream worker heals a shard whose fence is an hour ahead of the coordinator, and says so', async () => {
  const fence = memoryFence();
  const above = Date.now() + 3_600_000;
  const holder = Holder.create('before', realRuntime);
  await fence.claim({ name: shardLeaseName('fleet', 2), term: above, holder });
  const leases = new Leases(memoryCoordinator(), { id: 'a' });
  const topic = new Topic(memoryStreams(), { shardCount: 4 });
  const effects: string[] = [];
  const worker = new StreamWorker({
    topic,
    leases,
    fence,
    group: 'fleet',
    handler: async ({ key, seq, id }, { lease }) => {
      await fence.transaction(lease, async (transaction) => {
        if (await fence.recordOnce(transaction, 'orders', key, seq, id)) effects.push(key);
      });
    },
  });
  const healed: unknown[] = [];
  let refusedCount = 0;
  worker.events.on('termHealed', (event) => healed.push(event));
  worker.events.on('shardRefused', () => {
    refusedCount += 1;
  });
  await worker.start();
  const keys = Array.from({ length: 20 }, (_, index) => `customer-${index}`);
  for (const key of keys) await topic.publish({ key, id: key, payload: {} });
  await expect.poll(() => effects.length).toBe(keys.length);
  expect([...effects].sort()).toEqual([...keys].sort());
  expect(refusedCount).toBe(1);
  expect(healed).toEqual([{ shard: 2, above, term: expect.any(Number) }]);
  await worker.stop();
  await leases.close();
});
