import type { OnceControls, OnceSubject } from '../../src/once/conformance/index.js';
import type { OnceStore } from '../../src/once/index.js';
import type { FaultProxy } from '../support/proxy.js';

const pause = (durationMs: number) => new Promise((resolve) => setTimeout(resolve, durationMs));

/** A conformance subject on a real server: `store` is behind the proxy, `other` is not. */
export function proxiedSubject(
  store: OnceStore,
  other: OnceStore,
  proxy: FaultProxy,
  { expire, setBack }: Required<Pick<OnceControls, 'expire' | 'setBack'>>,
): OnceSubject {
  return {
    ...{ store, other },
    pass: async (durationMs) => {
      await pause(durationMs + 5);
    },
    until: (promise) => promise,
    controls: {
      loseReplies: async () => proxy.down.swallow(),
      holdRequests: async () => proxy.up.hold(),
      flushRequests: async () => {
        proxy.up.flush();
        // What was held is executed on a connection that was given up: nothing tells when.
        await pause(100);
      },
      cut: async () => {
        proxy.refuse(true);
        proxy.reset();
      },
      heal: async () => proxy.heal(),
      expire,
      setBack,
    },
    close: async () => {
      await Promise.all([store.close(), other.close()]);
      await proxy.stop();
    },
  };
}
