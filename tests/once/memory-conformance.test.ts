import { describe, it } from 'vitest';
import { FaultLink } from '../../src/drivers/memory/index.js';
import { registerOnceConformance } from '../../src/once/conformance/index.js';
import { MemoryKeys, memoryOnce } from '../../src/once/memory/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';
import { setBack } from './set-back.js';

registerOnceConformance(
  {
    name: 'memory',
    impossible: {},
    create: async () => {
      const runtime = new VirtualRuntime();
      const state = new MemoryKeys({ runtime });
      const link = new FaultLink();
      const store = memoryOnce(state, { link });
      const other = memoryOnce(state);
      return {
        ...{ store, other },
        pass: (durationMs) => runtime.advance(durationMs),
        until: (promise) => runtime.advanceUntil(promise),
        controls: {
          loseReplies: async () => link.disturb('reply', 'drop'),
          holdRequests: async () => link.disturb('request', 'hold'),
          flushRequests: async () => {
            link.flush();
            await runtime.settle();
          },
          cut: async () => link.cut(),
          heal: async () => link.heal(),
          expire: async (key) => {
            const { stored, nowMs: expiresAtMs } = state.find(key);
            if (stored !== undefined) state.put(key, { ...stored, expiresAtMs });
          },
          setBack: async (key, durationMs) => setBack(state, key, durationMs),
        },
        close: async () => {
          await Promise.all([store.close(), other.close()]);
        },
      };
    },
  },
  { describe, it },
);
