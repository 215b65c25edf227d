import type { Coordinator } from '../../src/coordinators/index.js';
import { memoryPromises } from '../../src/coordinators/memory/promises.js';
import { FaultLink, MemoryStore, memoryCoordinator } from '../../src/memory.js';
import type { ConformanceSubject, ConformanceTarget, SubjectControls } from '../../src/testing.js';
import { VirtualRuntime } from '../../src/testing.js';

/** How to make the store and its clients; the wrong coordinators vary one or the other. */
export interface MemoryVariant {
  createStore?(runtime: VirtualRuntime): MemoryStore;
  /** The client as it should be is `honest`; what is returned is tested in its place. */
  wrap?(honest: Coordinator, store: MemoryStore): Coordinator;
}

/** The memory coordinator in virtual time, with every fault its link and store can produce. */
export function memoryTarget(variant: MemoryVariant = {}): ConformanceTarget {
  return {
    name: 'memory',
    promises: memoryPromises,
    impossible: { loseTail: 'a memory store has no replica and no backup' },
    create: async () => createSubject(variant),
  };
}

function createSubject(variant: MemoryVariant): ConformanceSubject {
  const runtime = new VirtualRuntime();
  const store = variant.createStore?.(runtime) ?? new MemoryStore({ runtime });
  const links = new Map<Coordinator, FaultLink>();
  let nameCount = 0;
  return {
    runtime,
    ttlMs: 30_000,
    timeoutMs: 5_000,
    timerSlackMs: 0,
    controls: controls(runtime, store, links),
    async connect() {
      const link = new FaultLink();
      const honest = memoryCoordinator(store, { link });
      const client = variant.wrap?.(honest, store) ?? honest;
      links.set(client, link);
      return client;
    },
    newName() {
      nameCount += 1;
      return `group-${nameCount}/name`;
    },
    advance: (durationMs) => runtime.advance(durationMs),
    until: (promise) => runtime.advanceUntil(promise),
    async close() {
      for (const client of links.keys()) await client.close();
    },
  };
}

function controls(
  runtime: VirtualRuntime,
  store: MemoryStore,
  links: ReadonlyMap<Coordinator, FaultLink>,
): Partial<SubjectControls> {
  const linkOf = (client: Coordinator): FaultLink => {
    const link = links.get(client);
    if (link === undefined) throw new Error('this client is not of this subject');
    return link;
  };
  return {
    hang: async (client) => linkOf(client).hang(),
    cut: async (client) => linkOf(client).cut(),
    loseReplies: async (client) => linkOf(client).disturb('reply', 'drop'),
    holdRequests: async (client) => linkOf(client).disturb('request', 'hold'),
    flushRequests: async (client) => {
      linkOf(client).heal();
      linkOf(client).flush();
      await runtime.settle();
    },
    duplicateRequests: async (client) => linkOf(client).disturb('request', 'duplicate'),
    heal: async (client) => linkOf(client).heal(),
    deleteRecord: async (name) => store.deleteRecord(name),
    overwriteRecord: async (name, text) => store.overwriteRecord(name, text),
    foreignText: async (name) => store.foreignText(name),
    restartKeepingData: async () => store.restart({ keepData: true }),
    restartLosingData: async () => store.restart({ keepData: false }),
    stepClock: async (stepMs) => runtime.stepWall(stepMs),
    pendingCount: async () => runtime.pendingTimerCount,
  };
}
