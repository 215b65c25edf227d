import type { FencingToken } from '../../../src/fences/index.js';
import type { MemoryStreams } from '../../../src/memory.js';
import type { StreamStore } from '../../../src/streams/contract.js';

/** What wrong stores on one state know together, as their server would. */
export class SharedMemory {
  readonly owners = new Map<number, FencingToken>();
  readonly lastSeqs = new Map<string, number>();
  readonly delivered = new Map<number, string>();
  readonly versions = new Map<string, number>();
}

const memories = new WeakMap<MemoryStreams, SharedMemory>();

export function memoryOf(state: MemoryStreams): SharedMemory {
  const memory = memories.get(state) ?? new SharedMemory();
  memories.set(state, memory);
  return memory;
}

/** An honest install that also remembers the owner, whose token a store without a fence then borrows. */
export function rememberingInstall(
  honest: StreamStore,
  memory: SharedMemory,
): StreamStore['install'] {
  return async (requests, call) => {
    const results = await honest.install(requests, call);
    for (const [index, { shard, token }] of requests.entries()) {
      if (results[index]?.outcome === 'installed') memory.owners.set(shard, token);
    }
    return results;
  };
}
