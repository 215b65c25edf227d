import type { Runtime } from '../../time/index.js';
import type { Machine } from './machine.js';

/** The clocks and timers of a server, whichever incarnation of it runs: for a state that outlives its restarts. */
export function lastingRuntime(machine: Machine): Runtime {
  return {
    now: () => machine.runtime.now(),
    random: () => machine.runtime.random(),
    randomHex: (bytes) => machine.runtime.randomHex(bytes),
    setTimer: (delayMs, callback) => machine.runtime.setTimer(delayMs, callback),
  };
}
