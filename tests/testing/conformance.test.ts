import { describe, it } from 'vitest';
import type { Coordinator } from '../../src/coordinators/index.js';
import { memoryPromises } from '../../src/coordinators/memory/promises.js';
import { MemoryStore, memoryCoordinator } from '../../src/memory.js';
import {
  type ConformanceSubject,
  FaultyCoordinator,
  registerCoordinatorConformance,
  VirtualRuntime,
} from '../../src/testing.js';

/** The suite that every coordinator passes: without a fault nothing is different, and its faults are those of the suite. */
registerCoordinatorConformance(
  {
    name: 'a faulty coordinator around memory',
    promises: memoryPromises,
    impossible: {
      loseTail: 'a memory store has no replica and no backup',
      holdRequests: 'what was held is executed late, on purpose',
    },
    create: async () => createSubject(),
  },
  { describe, it },
);

function createSubject(): ConformanceSubject {
  const runtime = new VirtualRuntime();
  const store = new MemoryStore({ runtime });
  const clients: FaultyCoordinator[] = [];
  const all = { count: Number.POSITIVE_INFINITY };
  const on = (disturb: (client: FaultyCoordinator) => void) => async (client: Coordinator) =>
    disturb(client as FaultyCoordinator);
  let nameCount = 0;
  return {
    runtime,
    ttlMs: 30_000,
    timeoutMs: 5_000,
    timerSlackMs: 0,
    controls: {
      hang: on((client) => client.hang()),
      cut: on((client) => client.cut()),
      loseReplies: on((client) => client.loseReply(all)),
      duplicateRequests: on((client) => client.duplicate(all)),
      heal: on((client) => client.heal()),
      deleteRecord: async (name) => store.deleteRecord(name),
      overwriteRecord: async (name, text) => store.overwriteRecord(name, text),
      foreignText: async (name) => store.foreignText(name),
      restartKeepingData: async () => store.restart({ keepData: true }),
      restartLosingData: async () => store.restart({ keepData: false }),
      stepClock: async (stepMs) => runtime.stepWall(stepMs),
      pendingCount: async () => runtime.pendingTimerCount,
    },
    async connect() {
      const client = new FaultyCoordinator(memoryCoordinator(store), { runtime });
      clients.push(client);
      return client;
    },
    newName() {
      nameCount += 1;
      return `group-${nameCount}/name`;
    },
    advance: (durationMs) => runtime.advance(durationMs),
    until: (promise) => runtime.advanceUntil(promise),
    async close() {
      for (const client of clients) await client.close();
    },
  };
}
