import { ModelClient } from './client.js';
import type { CoordinatorModel } from './model.js';
import { StoreServer } from './server.js';

/** Comes back from a restart, or a flush, without anything: rule T's floor alone keeps its terms rising. */
export const amnesia: CoordinatorModel = {
  name: 'amnesia',
  likeness: 'Redis without persistence, or flushed by hand; a restored backup.',
  faults: ['forget'],
  servers: ['store'],
  start({ server: machineOf, witness, link, world, ttlMs, excuse, note }) {
    const machine = machineOf('store');
    const onLowTerm = () => excuse('terms', 10_000);
    const server = new StoreServer({ machine, witness, onLowTerm });
    return {
      connect: (process) =>
        new ModelClient({ process, server, witness, link: link(process, machine) }),
      inflict({ forMs }) {
        machine.pause();
        // Nobody waits long for a server that only restarts.
        world.after(Math.min(forMs, 1_000), () => {
          excuse('belief', ttlMs);
          note('forgets', `terms up to ${server.ledger.lastTerm}`);
          server.adopt();
          machine.resume();
          server.disconnect();
        });
      },
      restarted: () => server.disconnect(),
    };
  },
};
