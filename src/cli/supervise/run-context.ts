import type { Election } from '../../elections/index.js';
import type { Leases } from '../../leases/index.js';
import type { Runtime } from '../../time/index.js';
import type { WriteCommand } from '../next-command.js';
import type { Environment } from './environment.js';
import type { RunPlan } from './plan.js';
import type { Signals } from './signals.js';
import type { Voice } from './voice.js';
import type { Watch } from './watch.js';

/** What one `tenure run` works with, from its start to its end. */
export interface RunContext {
  readonly plan: RunPlan;
  readonly runtime: Runtime;
  readonly leases: Leases;
  readonly election: Election;
  readonly signals: Pick<Signals, 'passTo' | 'passToWait' | 'keep' | 'isToldToEnd'>;
  readonly watch: Pick<Watch, 'prepare' | 'guard' | 'renewed' | 'stopping' | 'gone'>;
  readonly voice: Voice;
  /** Where the name is, for people: never with a password. */
  readonly address: string;
  /** Writes a command to run next, for people, on this store. */
  readonly write: WriteCommand;
  /** Ours, with everything in it. */
  readonly environment: Environment;
}
