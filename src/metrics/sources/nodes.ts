import type { Coordinator } from '../../coordinators/index.js';
import { OptionError, redactSecrets } from '../../errors/index.js';
import type { Unsubscribe } from '../../events/index.js';
import { elapsedMs, type Instant, type Runtime } from '../../time/index.js';
import { all, type Site } from '../site.js';

interface NodeEvent {
  readonly address?: string;
}

/** What coordinators that are connected to servers tell of them. */
interface ConnectionSource {
  on(name: string, listener: (event: NodeEvent) => void): Unsubscribe;
}

/** A server that has been gone for this long, while another is there, is one that is not used any more. */
const forgottenAfterMs = 60 * 60 * 1000;

/**
 * Which servers of the store this process is connected to; of a quorum, which of those have a vote. One that has been gone for
 * an hour is told no more, for where addresses change, as those of pods do, there would be more and more of them. The
 * servers of a quorum are named by whoever set it up, and each is told until it is back.
 */
export function observeNodes(site: Site, coordinator: Coordinator, runtime: Runtime): Unsubscribe {
  if (!isSource(coordinator)) return () => {};
  const { store } = coordinator.promises;
  const connected = new Map<string, true | { readonly goneAt: Instant }>();
  const voteless = new Set<string>();
  let isQuorum = true;
  const forgetGone = () => {
    if (isQuorum || ![...connected.values()].includes(true)) return;
    const now = runtime.now();
    for (const [address, state] of connected) {
      if (state !== true && elapsedMs(state.goneAt, now) >= forgottenAfterMs)
        connected.delete(address);
    }
  };
  /** Some have no servers at all, most none with a vote; they refuse a name of an event that they never tell. */
  const on = (name: string, listener: (event: NodeEvent) => void) => {
    try {
      return coordinator.on(name, listener);
    } catch (error) {
      if (!(error instanceof OptionError)) throw error;
      if (name === 'node-out') isQuorum = false;
      return () => {};
    }
  };
  return all(
    on('connected', ({ address }) => {
      if (address !== undefined) connected.set(address, true);
    }),
    on('disconnected', ({ address }) => {
      // Where it says of nobody in particular, there is one at a time.
      const gone = address === undefined ? [...connected.keys()] : [address];
      const goneAt = runtime.now();
      for (const node of gone) if (connected.get(node) === true) connected.set(node, { goneAt });
      if (address !== undefined && !connected.has(address)) connected.set(address, { goneAt });
    }),
    on('node-out', ({ address }) => void voteless.add(address ?? '')),
    on('node-reseeded', ({ address }) => void voteless.delete(address ?? '')),
    site.onCollect({
      tell: () => {
        forgetGone();
        for (const [address, state] of connected) {
          const node = site.names.of('node', redactSecrets(address));
          const isUp = state === true && !voteless.has(address);
          site.instruments.nodes.tell({ store, node }, isUp ? 1 : 0);
        }
      },
    }),
  );
}

function isSource(coordinator: object): coordinator is ConnectionSource {
  return 'on' in coordinator && typeof coordinator.on === 'function';
}
