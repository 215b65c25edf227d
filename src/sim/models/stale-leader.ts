import type { StoredLease } from '../../coordinators/rules/record.js';
import { ModelClient } from './client.js';
import type { CoordinatorModel } from './model.js';
import { StoreServer } from './server.js';

/**
 * Has no clock in its requests, so that nothing is ever too late for it; and a leader that was paused and does not know that
 * it was replaced ends leases which, as far as it had heard, were not renewed.
 */
export const staleLeader: CoordinatorModel = {
  name: 'stale-leader',
  likeness: 'etcd before 3.4.42, 3.5.28 and 3.6.9.',
  faults: ['stale-leader'],
  servers: ['store'],
  start({ server: machineOf, witness, link, world, ttlMs, excuse, note }) {
    const machine = machineOf('store');
    const server = new StoreServer({ machine, witness });

    /** What a leader that is paused now will find expired when it goes on. */
    function knownTo(): Map<string, StoredLease> {
      server.expire();
      return new Map(
        [...server.ledger.all].flatMap(([name, record]) =>
          record.kind === 'lease' ? [[name, record] as const] : [],
        ),
      );
    }

    function endStale(known: ReadonlyMap<string, StoredLease>): void {
      const nowMs = server.expire();
      for (const [name, lease] of known) {
        const current = server.ledger.all.get(name);
        const isSame = current?.kind === 'lease' && current.term === lease.term;
        if (!isSame || lease.deadlineMs > nowMs) continue;
        excuse('belief', ttlMs);
        note('ends', `${name} term ${lease.term}, which is held`);
        witness.cover('a stale leader ended a lease that was held');
        server.ledger.evict(name);
      }
    }

    return {
      connect: (process) =>
        new ModelClient({
          ...{ process, server, witness, link: link(process, machine) },
          refusesLate: false,
        }),
      inflict({ forMs }) {
        const known = knownTo();
        world.after(forMs, () => machine.deliver(() => endStale(known)));
      },
      restarted: () => server.disconnect(),
    };
  },
};
