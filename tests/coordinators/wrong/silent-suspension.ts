import { MemoryStore } from '../../../src/memory.js';
import type { WrongCoordinator } from './wrong.js';

/** The switch is thrown, and every screen goes on showing a leader until somebody looks again. */
class SilentSuspensionStore extends MemoryStore {
  override altered(name: string): void {
    if (!this.suspensions.has(name)) super.altered(name);
  }
}

export const silentSuspension: WrongCoordinator = {
  mistake: 'tells nobody who watches that a name was suspended',
  rejectedBy: 'watches/suspend',
  createStore: (runtime) => new SilentSuspensionStore({ runtime }),
};
