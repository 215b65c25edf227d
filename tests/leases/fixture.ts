import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { FaultLink } from '../../src/drivers/memory/index.js';
import { Leases, type LeasesOptions } from '../../src/leases/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';

/** One process of a test: its leases, and the link it reaches the store by. */
export interface TestProcess {
  readonly leases: Leases;
  readonly link: FaultLink;
  readonly log: string[];
}

export interface Fixture {
  readonly runtime: VirtualRuntime;
  readonly store: MemoryStore;
  process(id: string, options?: LeasesOptions): TestProcess;
}

/** A store and any number of processes that share it, all under one virtual clock. */
export function createFixture(seed = 1): Fixture {
  const runtime = new VirtualRuntime({ seed });
  const store = new MemoryStore({ runtime });
  return {
    runtime,
    store,
    process(id, options = {}) {
      const link = new FaultLink();
      const coordinator = memoryCoordinator(store, { runtime, link });
      const leases = new Leases(coordinator, { id, runtime, ...options });
      const log: string[] = [];
      leases.events.on('acquired', ({ lease }) => log.push(`acquired ${lease.name}`));
      leases.events.on('uncertain', ({ lease, cause }) =>
        log.push(`uncertain ${lease.name} ${cause}`),
      );
      leases.events.on('recovered', ({ lease }) => log.push(`recovered ${lease.name}`));
      leases.events.on('lost', ({ lease, reason }) => log.push(`lost ${lease.name} ${reason}`));
      leases.events.on('released', ({ lease, reason }) =>
        log.push(`released ${lease.name} ${reason}`),
      );
      return { leases, link, log };
    },
  };
}

/** The value, which has to be there. */
export function defined<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('expected a value');
  return value;
}
