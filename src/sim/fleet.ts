import type { MemoryFence } from '../fences/memory/index.js';
import { SimHost } from './host.js';
import type { RunningModel } from './models/model.js';
import { recorded } from './network/recorded.js';
import { RemoteFence } from './network/remote-fence.js';
import { type Plan, resourceId } from './plan.js';
import type { Plant } from './plant.js';
import { Random } from './random.js';
import type { App, PreparedScenario } from './scenarios/scenario.js';
import type { Stage } from './stage.js';
import type { Machine } from './world/machine.js';

export interface FleetOptions {
  readonly stage: Stage;
  readonly plan: Plan;
  readonly model: RunningModel;
  readonly prepared: PreparedScenario;
  readonly serverFence: MemoryFence;
  readonly plant: Plant | undefined;
}

/** The simulated processes, and what runs in each. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #apps = new Map<string, App>();

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  /** One after the other, as a deployment does. */
  bootAll(): void {
    const { stage } = this.#options;
    const random = new Random(stage.seed, 'boot');
    for (const machine of stage.processes)
      stage.world.after(random.between(0, 200), () => this.boot(machine));
  }

  boot(machine: Machine): void {
    if (machine.isDown || this.#apps.has(machine.id)) return;
    const { incarnation } = machine;
    machine.deliver(() => {
      if (machine.incarnation !== incarnation) return;
      this.#apps.set(machine.id, this.#options.prepared.boot(this.#host(machine)));
    });
  }

  crashed(machine: Machine): void {
    if (!this.#apps.delete(machine.id)) return;
    this.#options.stage.witness.tell('crashed', { process: machine.id });
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#apps.values()].map((app) => app.close()));
  }

  #host(machine: Machine): SimHost {
    const { stage, model, serverFence, plant } = this.#options;
    const { witness, world, trace, seed } = stage;
    const resource = stage.machine(resourceId);
    const coordinator = recorded(model.connect(machine), machine, witness);
    const link = stage.link(machine, resource);
    const fence = new RemoteFence({ process: machine, witness, fence: serverFence, link });
    return new SimHost({
      machine,
      witness,
      runtime: plant?.runtime?.(machine.runtime, machine) ?? machine.runtime,
      coordinator: plant?.coordinator?.(coordinator, machine) ?? coordinator,
      fence: plant?.fence?.(fence, machine) ?? fence,
      random: new Random(seed, `scenario/${machine.id}/${machine.incarnation}`),
      linkTo: (server) => stage.link(machine, stage.machine(server)),
      note: (what, particulars = '') => trace.add(world.nowMs, machine.id, what, particulars),
    });
  }
}
