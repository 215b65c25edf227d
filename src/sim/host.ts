import type { Coordinator } from '../coordinators/index.js';
import { Leases, type LeasesOptions } from '../leases/index.js';
import type { Runtime } from '../time/index.js';
import type { SimLink } from './network/link.js';
import type { RemoteFence } from './network/remote-fence.js';
import type { Random } from './random.js';
import type { Witness } from './witness.js';
import type { Machine } from './world/machine.js';

export interface SimHostOptions {
  readonly machine: Machine;
  /** Clocks, timers and randomness of this incarnation; wrapped, if a planted bug asks for it. */
  readonly runtime: Runtime;
  readonly coordinator: Coordinator;
  readonly fence: RemoteFence;
  readonly random: Random;
  readonly witness: Witness;
  readonly linkTo: (server: string) => SimLink;
  readonly note: (what: string, particulars?: string) => void;
}

/** One incarnation of a simulated process: all that a scenario's code may use. */
export class SimHost {
  readonly id: string;
  readonly machine: Machine;
  readonly runtime: Runtime;
  readonly coordinator: Coordinator;
  readonly fence: RemoteFence;
  /** For the scenario's own decisions, a stream for each incarnation. */
  readonly random: Random;
  readonly witness: Witness;
  /** The network to a server, for a state in memory that lies there. */
  readonly linkTo: (server: string) => SimLink;
  /** A line of the trace about this process. */
  readonly note: (what: string, particulars?: string) => void;

  constructor(options: SimHostOptions) {
    this.id = options.machine.id;
    this.machine = options.machine;
    this.runtime = options.runtime;
    this.coordinator = options.coordinator;
    this.fence = options.fence;
    this.random = options.random;
    this.witness = options.witness;
    this.linkTo = options.linkTo;
    this.note = options.note;
  }

  /** Leases of this process, watched by the checkers. */
  leases(options: LeasesOptions): Leases {
    const leases = new Leases(this.coordinator, { id: this.id, runtime: this.runtime, ...options });
    const { id, witness, runtime } = this;
    leases.events.on('acquired', ({ lease }) => {
      this.note('acquired', `${lease.name} term ${lease.term}`);
      witness.tell('acquired', { process: id, lease, runtime });
    });
    for (const how of ['lost', 'released'] as const) {
      leases.events.on(how, ({ lease, reason }) => {
        this.note(how, `${lease.name} term ${lease.term} ${reason}`);
        witness.tell('ended', { process: id, lease, how, reason });
      });
    }
    return leases;
  }

  progress(what: string): void {
    this.witness.tell('progress', { process: this.id, what });
  }
}
