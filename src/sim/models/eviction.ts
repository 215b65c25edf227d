import { Random } from '../random.js';
import { ModelClient } from './client.js';
import type { CoordinatorModel } from './model.js';
import { StoreServer } from './server.js';

/** Throws single records away when it is full: leases vanish while they are held. */
export const eviction: CoordinatorModel = {
  name: 'eviction',
  likeness: 'Redis with an eviction policy; an operator who deletes what looks stale.',
  faults: ['evict'],
  servers: ['store'],
  start({ server: machineOf, witness, link, ttlMs, excuse, note }) {
    const machine = machineOf('store');
    const server = new StoreServer({ machine, witness });
    return {
      connect: (process) =>
        new ModelClient({ process, server, witness, link: link(process, machine) }),
      inflict({ seed }) {
        const random = new Random(seed, 'eviction');
        server.expire();
        for (const name of [...server.ledger.all.keys()]) {
          if (!random.chance(0.7)) continue;
          excuse('belief', ttlMs);
          note('evicts', name);
          server.ledger.evict(name);
        }
      },
      restarted: () => server.disconnect(),
    };
  },
};
