import { describe, it } from 'vitest';
import type { Coordinator } from '../../src/coordinators/index.js';
import { memoryPromises } from '../../src/coordinators/memory/promises.js';
import type { MemoryStore } from '../../src/memory.js';
import {
  type ConformanceSubject,
  FaultyCoordinator,
  registerCoordinatorConformance,
} from '../../src/testing.js';
import { memoryTarget } from '../coordinators/memory-target.js';

/** The suite that every coordinator passes: without a fault nothing is different, and its faults are those of the suite. */
registerCoordinatorConformance(
  {
    name: 'a faulty coordinator around memory',
    promises: memoryPromises,
    impossible: {
      loseTail: 'a memory store has no replica and no backup',
      holdRequests: 'what was held is executed late, on purpose',
    },
    create: createSubject,
  },
  { describe, it },
);

/** The target of the coordinator in memory, with the faults of this one in place of those of its link. */
async function createSubject(): Promise<ConformanceSubject> {
  const all = { count: Number.POSITIVE_INFINITY };
  const on = (disturb: (client: FaultyCoordinator) => void) => async (client: Coordinator) =>
    disturb(client as FaultyCoordinator);
  const wrap = (store: Coordinator, { runtime }: MemoryStore) =>
    new FaultyCoordinator(store, { runtime });
  const subject = await memoryTarget({ wrap }).create();
  const controls = {
    ...subject.controls,
    hang: on((client) => client.hang()),
    cut: on((client) => client.cut()),
    loseReplies: on((client) => client.loseReply(all)),
    duplicateRequests: on((client) => client.duplicate(all)),
    heal: on((client) => client.heal()),
  };
  return { ...subject, controls };
}
