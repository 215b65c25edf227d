import { SimLink } from './network/link.js';
import { Network } from './network/network.js';
import { type Plan, resourceId } from './plan.js';
import { Random } from './random.js';
import type { Trace } from './trace.js';
import { Witness } from './witness.js';
import { Clock } from './world/clock.js';
import { Machine } from './world/machine.js';
import { World } from './world/world.js';

/** When all runs begin, by a wall clock that is right. */
const beginsAtMs = Date.UTC(2026, 0, 1);

/** The world of one run, all machines in it, and the network between them. */
export class Stage {
  readonly seed: number;
  readonly world: World;
  readonly witness = new Witness();
  readonly network: Network;
  readonly trace: Trace;
  readonly processes: readonly Machine[];
  readonly #machines = new Map<string, Machine>();

  constructor({ seed, processIds, model, scenario }: Plan, trace: Trace) {
    this.seed = seed;
    this.trace = trace;
    this.world = trace.isShown ? new World() : new World(0);
    this.network = new Network(this.world, seed);
    this.processes = processIds.map((id) => this.#add(id));
    for (const id of [...model.servers, resourceId, ...(scenario.servers ?? [])]) this.#add(id);
  }

  machine(id: string): Machine {
    const machine = this.#machines.get(id);
    if (machine === undefined) throw new Error(`there is no machine ${id} in this run`);
    return machine;
  }

  link(client: Machine, server: Machine): SimLink {
    const { network, trace } = this;
    return new SimLink({ network, trace, client, server });
  }

  #add(id: string): Machine {
    const random = new Random(this.seed, `clock/${id}`);
    const clock = new Clock(this.world, {
      rate: 1,
      bootedForMs: random.magnitude(1_000, 100_000_000),
      wallMs: beginsAtMs + random.between(-50, 50),
    });
    const machine = new Machine(this.world, clock, this.seed, id);
    this.#machines.set(id, machine);
    return machine;
  }
}
