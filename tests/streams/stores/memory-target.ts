import { FaultLink, MemoryStreams, memoryStreams } from '../../../src/memory.js';
import type {
  StreamControls,
  StreamSubject,
  StreamTarget,
} from '../../../src/streams/conformance/index.js';
import type { StreamStore } from '../../../src/streams/contract.js';
import { VirtualRuntime } from '../../../src/time/virtual.js';

/** The store as it should be is `honest`; what is returned is tested in its place. */
export type Wrap = (honest: StreamStore, state: MemoryStreams) => StreamStore;

/** The memory store in virtual time, with every fault its link and state can produce. */
export function memoryStreamTarget(wrap: Wrap = (honest) => honest): StreamTarget {
  return {
    name: 'memory',
    promises: memoryStreams().promises,
    impossible: {},
    create: async () => createSubject(wrap),
  };
}

function createSubject(wrap: Wrap): StreamSubject {
  const runtime = new VirtualRuntime();
  const state = new MemoryStreams({ runtime });
  const links = new Map<StreamStore, FaultLink>();
  return {
    runtime,
    timeoutMs: 5_000,
    timerSlackMs: 0,
    largestPayloadBytes: 256 * 1024,
    controls: controls(runtime, state, links),
    async connect() {
      const link = new FaultLink();
      const store = wrap(memoryStreams(state, { link }), state);
      links.set(store, link);
      return store;
    },
    advance: (durationMs) => runtime.advance(durationMs),
    until: (promise) => runtime.advanceUntil(promise),
    async close() {
      for (const store of links.keys()) await store.close();
    },
  };
}

function controls(
  runtime: VirtualRuntime,
  state: MemoryStreams,
  links: ReadonlyMap<StreamStore, FaultLink>,
): Partial<StreamControls> {
  const linkOf = (store: StreamStore): FaultLink => {
    const link = links.get(store);
    if (link === undefined) throw new Error('this store is not of this subject');
    return link;
  };
  return {
    hang: async (store) => linkOf(store).hang(),
    loseReplies: async (store) => linkOf(store).disturb('reply', 'drop'),
    holdRequests: async (store) => linkOf(store).disturb('request', 'hold'),
    flushRequests: async (store) => {
      linkOf(store).heal();
      linkOf(store).flush();
      await runtime.settle();
    },
    duplicateRequests: async (store) => linkOf(store).disturb('request', 'duplicate'),
    heal: async (store) => linkOf(store).heal(),
    appendForeign: async (shard) => promised(state.appendForeign(shard)),
    overwriteState: async (shard) => promised(state.overwriteState(shard)),
    restartKeepingData: async () => state.restart({ keepData: true }),
    restartLosingData: async () => state.restart({ keepData: false }),
    stepClock: async (stepMs) => runtime.stepWall(stepMs),
  };
}

function promised(undo: () => void): () => Promise<void> {
  return async () => undo();
}
