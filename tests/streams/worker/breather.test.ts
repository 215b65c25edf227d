import { expect, it } from 'vitest';
import { memoryCoordinator } from '../../../src/coordinators/memory/index.js';
import { Leases } from '../../../src/leases/index.js';
import { StreamWorker, Topic } from '../../../src/streams/index.js';
import { memoryStreams } from '../../../src/streams/memory/index.js';

it('lets timers have their turn although handlers need nothing but the processor', async () => {
  const store = memoryStreams();
  const topic = new Topic(store, { shardCount: 1 });
  const messages = Array.from({ length: 300 }, (_, index) => ({
    key: 'k',
    id: `${index}`,
    payload: index,
  }));
  await topic.publishMany(messages);
  const leases = new Leases(memoryCoordinator());
  let sinceTimerCount = 0;
  let longestRunCount = 0;
  const timer = setInterval(() => {
    sinceTimerCount = 0;
  }, 1);
  const worker = new StreamWorker({
    topic,
    leases,
    group: 'busy',
    handler: () => {
      sinceTimerCount += 1;
      longestRunCount = Math.max(longestRunCount, sinceTimerCount);
      for (const untilMs = performance.now() + 2; performance.now() < untilMs; );
    },
  });
  await worker.start();
  while ((await topic.backlog()).count > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  clearInterval(timer);
  await worker.stop();
  await leases.close();
  // All 300 in one go otherwise. A slice of 20 ms holds ten handlers of 2 ms, however slow the machine is.
  expect(longestRunCount).toBeLessThan(50);
});
