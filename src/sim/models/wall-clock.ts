import { ModelClient } from './client.js';
import type { CoordinatorModel } from './model.js';
import { StoreServer } from './server.js';

/** Two readings of the two clocks agree up to rounding. */
const toleranceMs = 0.01;

/** Judges expiry by its wall clock: set forward, it ends leases that are held; set back, it keeps those of the dead. */
export const wallClock: CoordinatorModel = {
  name: 'wall-clock',
  likeness: 'Redis, whose times to live follow the wall clock; PostgreSQL with clock_timestamp().',
  faults: [],
  servers: ['store'],
  largestStepMs: 5_000,
  start({ server: machineOf, witness, link, ttlMs, excuse }) {
    const machine = machineOf('store');
    const offset = () => machine.clock.wallMs - machine.clock.uptimeMs;
    let offsetMs = offset();
    const nowMs = () => {
      const steppedMs = offset() - offsetMs;
      offsetMs += steppedMs;
      if (steppedMs > toleranceMs) excuse('belief', ttlMs);
      return machine.clock.wallMs;
    };
    const server = new StoreServer({ machine, witness, nowMs });
    return {
      connect: (process) =>
        new ModelClient({ process, server, witness, link: link(process, machine) }),
      inflict() {},
      restarted: () => server.disconnect(),
    };
  },
};
