import type { Coordinator } from '../../coordinators/index.js';
import type { Unsubscribe } from '../../events/index.js';
import { all, type Site } from '../site.js';

interface NodeEvent {
  readonly address?: string;
}

/** What coordinators that are connected to servers tell of them. */
interface ConnectionSource {
  on(name: string, listener: (event: NodeEvent) => void): Unsubscribe;
}

/** Which servers of the store this process is connected to; of a quorum, which of those have a vote. */
export function observeNodes(site: Site, coordinator: Coordinator): Unsubscribe {
  if (!isSource(coordinator)) return () => {};
  const { store } = coordinator.promises;
  const connected = new Map<string, boolean>();
  const voteless = new Set<string>();
  return all(
    coordinator.on('connected', ({ address }) => {
      if (address !== undefined) connected.set(address, true);
    }),
    coordinator.on('disconnected', ({ address }) => {
      // Where it says of nobody in particular, there is one at a time.
      const gone = address === undefined ? [...connected.keys()] : [address];
      for (const node of gone) connected.set(node, false);
    }),
    coordinator.on('node-out', ({ address }) => void voteless.add(address ?? '')),
    coordinator.on('node-reseeded', ({ address }) => void voteless.delete(address ?? '')),
    site.onCollect({
      tell: () => {
        for (const [address, isConnected] of connected) {
          const node = site.names.of('node', address);
          const isUp = isConnected && !voteless.has(address);
          site.instruments.nodes.tell({ store, node }, isUp ? 1 : 0);
        }
      },
    }),
  );
}

function isSource(coordinator: object): coordinator is ConnectionSource {
  return 'on' in coordinator && typeof coordinator.on === 'function';
}
