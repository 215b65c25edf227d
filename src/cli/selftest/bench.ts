import type { Coordinator } from '../../coordinators/index.js';
import { memoryFence } from '../../fences/memory/index.js';
import type { MessageStores } from '../stores.js';
import type { Bench } from './check.js';
import { selftestClock } from './clock.js';
import type { Sabotage } from './sabotage.js';

export interface ClosableBench extends Bench {
  close(): Promise<void>;
}

/** What one check works with: clients of the store, wrapped in whatever sabotage is wanted. */
export function createBench(
  name: string,
  stores: MessageStores,
  observer: Coordinator,
  sabotages: readonly Sabotage[],
): ClosableBench {
  const clients: { close(): Promise<void> }[] = [];
  const fence = sabotages.reduce((inner, { fence: wrap }) => wrap?.(inner) ?? inner, memoryFence());
  return {
    name,
    observer,
    clock: selftestClock(observer.promises),
    fence,
    openCoordinator() {
      const client = stores.openCoordinator();
      clients.push(client);
      return sabotages.reduce((inner, { coordinator }) => coordinator?.(inner) ?? inner, client);
    },
    openStreams() {
      const client = stores.openStreams(name);
      clients.push(client);
      return sabotages.reduce((inner, { streams }) => streams?.(inner) ?? inner, client);
    },
    handlerOf: (handler) =>
      sabotages.reduce((inner, { handler: wrap }) => wrap?.(inner) ?? inner, handler),
    async close() {
      await Promise.all(clients.map((client) => client.close()));
    },
  };
}
