import { MemoryStore } from '../../../src/memory.js';
import type { WrongCoordinator } from './wrong.js';

class HastyStore extends MemoryStore {
  override vacated(name: string): void {
    const suspension = this.suspensions.get(name);
    this.suspensions.delete(name);
    super.vacated(name);
    if (suspension !== undefined) this.suspensions.set(name, suspension);
  }
}

export const callsInSuspension: WrongCoordinator = {
  mistake: 'calls waiters to a suspended name when its lease is released',
  rejectedBy: 'calls/suspended',
  createStore: (runtime) => new HastyStore({ runtime }),
};
