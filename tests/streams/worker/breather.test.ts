import { expect, it } from 'vitest';
import { memoryCoordinator } from '../../../src/coordinators/memory/index.js';
import { Leases } from '../../../src/leases/index.js';
import { StreamWorker, Topic } from '../../../src/streams/index.js';
import { memoryStreams } from '../../../src/streams/memory/index.js';

it('lets timers have their turn although handlers need nothing but the processor', async () => {
  const store = memoryStreams();
  const topic = new Topic(store, { name: 'busy', shardCount: 1 });
  const messages = Array.from({ length: 300 }, (_, index) => ({
    key: 'k',
    id: `${index}`,
    payload: index,
  }));
  await topic.publishMany(messages);
  const leases = new Leases(memoryCoordinator());
  let longestGapMs = 0;
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    longestGapMs = Math.max(longestGapMs, nowMs - lastMs);
    lastMs = nowMs;
  }, 1);
  const worker = new StreamWorker({
    topic,
    leases,
    group: 'busy',
    handler: () => {
      for (const untilMs = performance.now() + 2; performance.now() < untilMs; );
    },
  });
  await worker.start();
  while ((await topic.backlog()).count > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  clearInterval(timer);
  await worker.stop();
  await leases.close();
  // 600 ms of work in one go otherwise; a busy machine may stretch the 20 ms of a slice.
  expect(longestGapMs).toBeLessThan(300);
});
