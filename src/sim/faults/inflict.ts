import type { RunningModel } from '../models/model.js';
import type { Network } from '../network/network.js';
import type { Trace } from '../trace.js';
import type { Machine } from '../world/machine.js';
import type { World } from '../world/world.js';
import type { Fault, MachineFault, Schedule } from './faults.js';

export interface Victims {
  readonly world: World;
  readonly network: Network;
  readonly model: RunningModel;
  readonly trace: Trace;
  readonly machine: (id: string) => Machine;
  /** A machine was crashed, or runs again. */
  readonly crashed: (machine: Machine) => void;
  readonly restarted: (machine: Machine) => void;
}

/** Plans every fault of the schedule, and its end. */
export function inflict(schedule: Schedule, victims: Victims): void {
  for (const fault of schedule) {
    victims.world.at(fault.atMs, () => {
      victims.trace.add(victims.world.nowMs, whomOf(fault), 'fault', textOf(fault));
      begin(fault, victims);
    });
  }
}

function begin(fault: Fault, victims: Victims): void {
  const { world, network, model, machine } = victims;
  switch (fault.kind) {
    case 'pause':
    case 'suspend':
      stop(fault, victims);
      break;
    case 'crash':
      crash(fault, victims);
      break;
    case 'step-wall':
      machine(fault.machine).clock.stepWall(fault.byMs);
      break;
    case 'drift':
      machine(fault.machine).clock.setRate(fault.rate);
      break;
    case 'store':
      model.inflict(fault);
      break;
    default:
      network.begin(fault);
      world.after(fault.forMs, () => network.end(fault));
  }
}

function stop(fault: MachineFault, { world, machine, trace }: Victims): void {
  const struck = machine(fault.machine);
  struck.pause();
  if (fault.kind === 'suspend') struck.clock.suspend();
  world.after(fault.forMs, () => {
    trace.add(world.nowMs, struck.id, 'goes-on', `after ${fault.kind}`);
    if (fault.kind === 'suspend') struck.clock.wake();
    struck.resume();
  });
}

function crash(fault: MachineFault, { world, machine, crashed, restarted, trace }: Victims): void {
  const struck = machine(fault.machine);
  if (struck.isDown) return;
  struck.crash();
  crashed(struck);
  world.after(fault.forMs, () => {
    trace.add(world.nowMs, struck.id, 'restarts', `incarnation ${struck.incarnation}`);
    struck.restart();
    restarted(struck);
  });
}

const whomOf = (fault: Fault) => (fault.kind === 'store' ? 'store' : fault.machine);

function textOf(fault: Fault): string {
  const { kind, atMs: _atMs, ...rest } = fault;
  const words = Object.entries(rest)
    .filter(([key]) => key !== 'machine' && key !== 'seed')
    .map(([key, value]) => `${key}=${value}`);
  return [kind, ...words].join(' ');
}
