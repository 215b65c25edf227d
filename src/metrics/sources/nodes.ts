import type { Coordinator } from '../../coordinators/index.js';
import { OptionError, redactSecrets } from '../../errors/index.js';
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
  const on = (name: string, listener: (event: NodeEvent) => void) =>
    onIfTold(coordinator, name, listener);
  return all(
    on('connected', ({ address }) => {
      if (address !== undefined) connected.set(address, true);
    }),
    on('disconnected', ({ address }) => {
      // Where it says of nobody in particular, there is one at a time.
      const gone = address === undefined ? [...connected.keys()] : [address];
      for (const node of gone) connected.set(node, false);
    }),
    on('node-out', ({ address }) => void voteless.add(address ?? '')),
    on('node-reseeded', ({ address }) => void voteless.delete(address ?? '')),
    site.onCollect({
      tell: () => {
        for (const [address, isConnected] of connected) {
          const node = site.names.of('node', redactSecrets(address));
          const isUp = isConnected && !voteless.has(address);
          site.instruments.nodes.tell({ store, node }, isUp ? 1 : 0);
        }
      },
    }),
  );
}

/** Most coordinators have no nodes with a vote, and refuse a name of an event that they never tell. */
function onIfTold(
  source: ConnectionSource,
  name: string,
  listener: (event: NodeEvent) => void,
): Unsubscribe {
  try {
    return source.on(name, listener);
  } catch (error) {
    if (error instanceof OptionError) return () => {};
    throw error;
  }
}

function isSource(coordinator: object): coordinator is ConnectionSource {
  return 'on' in coordinator && typeof coordinator.on === 'function';
}
