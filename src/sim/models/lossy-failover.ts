import { Random } from '../random.js';
import { ModelClient } from './client.js';
import type { CoordinatorModel } from './model.js';
import { StoreServer } from './server.js';

/** A replica lags behind by this much at most, in milliseconds. */
const longestLagMs = 3_000;
/** The clocks of two servers differ by this much at most. */
const largestSkewMs = 1_000;

/** A replica takes over that has not heard of the last writes: what they granted, renewed and ended never was. */
export const lossyFailover: CoordinatorModel = {
  name: 'lossy-failover',
  likeness: 'Redis with sentinels or as a cluster; PostgreSQL with an asynchronous standby.',
  faults: ['failover'],
  servers: ['store'],
  start({ server: machineOf, witness, link, world, ttlMs, excuse, note }) {
    const machine = machineOf('store');
    const onLowTerm = () => excuse('terms', 10_000);
    const server = new StoreServer({ machine, witness, onLowTerm });
    server.ledger.keepJournal(longestLagMs);
    return {
      connect: (process) =>
        new ModelClient({ process, server, witness, link: link(process, machine) }),
      inflict({ forMs, seed }) {
        const random = new Random(seed, 'failover');
        const lagMs = random.magnitude(1, longestLagMs);
        const skewMs = random.between(-largestSkewMs, largestSkewMs);
        machine.pause();
        world.after(forMs, () => {
          excuse('belief', ttlMs);
          note('fails-over', `without the last ${lagMs.toFixed(0)} ms`);
          const { lastTerm } = server.ledger;
          server.forget(lagMs);
          if (server.ledger.lastTerm < lastTerm) witness.cover('a failover lost a grant');
          machine.clock.stepWall(skewMs);
          machine.resume();
          server.disconnect();
        });
      },
      restarted: () => server.disconnect(),
    };
  },
};
