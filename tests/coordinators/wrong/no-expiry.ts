import { MemoryStore } from '../../../src/memory.js';
import type { WrongCoordinator } from './wrong.js';

class EternalStore extends MemoryStore {
  override expire(): number {
    return this.elapsedMs();
  }
}

export const noExpiry: WrongCoordinator = {
  mistake: 'never lets a lease expire',
  rejectedBy: 'expiry/frees',
  createStore: (runtime) => new EternalStore({ runtime }),
};
