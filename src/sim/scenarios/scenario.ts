import type { LeaseTiming } from '../../leases/index.js';
import type { Checker } from '../checkers/checker.js';
import type { SimHost } from '../host.js';
import type { Random } from '../random.js';
import type { Machine } from '../world/machine.js';
import type { World } from '../world/world.js';

/**
 * What the processes do: the real code of tenure, as a user would call it. A file each in this folder, and a line in
 * `index.ts`.
 */
export interface Scenario {
  readonly name: string;
  /** Servers of its own besides the store and the resource, by id; they meet faults as the others do. */
  readonly servers?: readonly string[];
  /** The servers' wall clocks are set by this much at most, in milliseconds. Default 100,000. */
  readonly largestStepMs?: number;
  prepare(stage: ScenarioStage): PreparedScenario;
}

export interface ScenarioStage {
  readonly world: World;
  readonly seed: number;
  readonly random: Random;
  /** Drawn from the seed; the ttl is a few seconds. */
  readonly timing: Required<Pick<LeaseTiming, 'ttlMs' | 'giveUpAfterMs'>>;
  readonly processIds: readonly string[];
  /** From then on nothing fails any more. */
  readonly healedAtMs: number;
  server(id: string): Machine;
}

export interface PreparedScenario {
  /** Checkers of its own, besides those that every run has. */
  readonly checkers?: readonly Checker[];
  /** Begins what a process does; called again for each incarnation of it, with its first event. */
  boot(host: SimHost): App;
  /** A server of its own runs again, with its data; its connections had broken. */
  restarted?(server: string): void;
  /** Once work goes on after the faults: `true` if nothing more is to be seen. Default: it plays on until the plan's end. */
  isSettled?(): boolean;
  /** Ends it all, once the faults are over: nothing new begins, and what was begun is to end. */
  quiesce?(): void;
}

/** What runs in one incarnation of a process. */
export interface App {
  /** Closes all that it opened. Within 30 s of virtual time. */
  close(): Promise<void>;
}
