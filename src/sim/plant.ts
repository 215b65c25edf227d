import type { Coordinator } from '../coordinators/index.js';
import type { MemoryFence } from '../fences/memory/index.js';
import type { Runtime } from '../time/index.js';
import type { RemoteFence } from './network/remote-fence.js';
import type { Machine } from './world/machine.js';

/**
 * Where a bug can be planted: each wraps what the code above it is given, for every process. What the checkers see is
 * wrapped before, so a bug cannot hide from them.
 */
export interface Plant {
  readonly name: string;
  readonly runtime?: (runtime: Runtime, process: Machine) => Runtime;
  readonly coordinator?: (coordinator: Coordinator, process: Machine) => Coordinator;
  /** At the server, for all processes. */
  readonly serverFence?: (fence: MemoryFence) => MemoryFence;
  readonly fence?: (fence: RemoteFence, process: Machine) => RemoteFence;
}
