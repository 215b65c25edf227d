import { MemoryStore } from '../../../src/memory.js';
import type { Instant, Runtime } from '../../../src/time/index.js';
import type { WrongCoordinator } from './wrong.js';

/** Measures with the wall clock, which anybody may set. */
function onWallClock(runtime: Runtime): Runtime {
  const now = (): Instant => {
    const { wallMs } = runtime.now();
    return { monotonicMs: wallMs, uptimeMs: wallMs, wallMs };
  };
  return {
    now,
    setTimer: (delayMs, callback, options) => runtime.setTimer(delayMs, callback, options),
    random: () => runtime.random(),
    randomHex: (bytes) => runtime.randomHex(bytes),
  };
}

export const wallClock: WrongCoordinator = {
  mistake: 'judges expiry by the wall clock, though it declares a monotonic one',
  rejectedBy: 'clock/forward',
  createStore: (runtime) => new MemoryStore({ runtime: onWallClock(runtime) }),
};
