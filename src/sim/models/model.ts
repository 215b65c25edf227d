import type { Coordinator } from '../../coordinators/index.js';
import type { StoreFault } from '../faults/faults.js';
import type { SimLink } from '../network/link.js';
import type { Random } from '../random.js';
import type { Witness } from '../witness.js';
import type { Machine } from '../world/machine.js';
import type { World } from '../world/world.js';

/**
 * A store that grants leases, as it is when it works and in which ways it breaks. A file each in this folder, and a line
 * in `index.ts`.
 */
export interface CoordinatorModel {
  readonly name: string;
  /** One sentence: what of a real store it is like. */
  readonly likeness: string;
  /** The faults of its own that may befall it, `what` of a {@link StoreFault}. */
  readonly faults: readonly string[];
  /** Servers that may be paused, crashed and have their clocks set: their ids. */
  readonly servers: readonly string[];
  /** The servers' wall clocks are set by this much at most, in milliseconds. Default 100,000. */
  readonly largestStepMs?: number;
  start(stage: ModelStage): RunningModel;
}

export type Excuse = 'belief' | 'terms';

export interface ModelStage {
  /** Of all leases. */
  readonly ttlMs: number;
  readonly world: World;
  readonly witness: Witness;
  /** The server of that id: one of {@link CoordinatorModel.servers}. */
  server(id: string): Machine;
  link(client: Machine, server: Machine): SimLink;
  random(component: string): Random;
  /** A line of the trace about the store. */
  note(what: string, particulars?: string): void;
  /**
   * Something that the model does not promise has happened. `belief`: for so long two may believe at once, or a lease end
   * while it is believed in. `terms`: a term that is granted until then may be no higher than an earlier one. Checkers look
   * away meanwhile; those of the fence never do.
   */
  excuse(what: Excuse, forMs: number): void;
}

export interface RunningModel {
  /** As the present incarnation of that process sees it. */
  connect(process: Machine): Coordinator;
  /** Begins one of {@link CoordinatorModel.faults}, and ends it in time. */
  inflict(fault: StoreFault): void;
  /** A server that had crashed runs again. */
  restarted(server: Machine): void;
}
