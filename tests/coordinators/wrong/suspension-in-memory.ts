import { MemoryStore } from '../../../src/memory.js';
import type { WrongCoordinator } from './wrong.js';

class VolatileStore extends MemoryStore {
  override restart(options: { readonly keepData: boolean }): void {
    this.suspensions.clear();
    super.restart(options);
  }
}

export const suspensionInMemory: WrongCoordinator = {
  mistake: 'forgets its suspensions when the store restarts',
  rejectedBy: 'suspensions/restart',
  createStore: (runtime) => new VolatileStore({ runtime }),
};
