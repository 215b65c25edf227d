import { ModelClient } from './client.js';
import type { CoordinatorModel } from './model.js';
import { StoreServer } from './server.js';

/** Keeps everything, and judges expiry by a clock that nobody sets. */
export const linearizable: CoordinatorModel = {
  name: 'linearizable',
  likeness: 'One server that loses nothing: SQLite, one synchronous PostgreSQL, ZooKeeper, etcd.',
  faults: [],
  servers: ['store'],
  start({ server: machineOf, witness, link }) {
    const machine = machineOf('store');
    const server = new StoreServer({ machine, witness });
    return {
      connect: (process) =>
        new ModelClient({ process, server, witness, link: link(process, machine) }),
      inflict() {},
      restarted: () => server.disconnect(),
    };
  },
};
