import { MemoryStore } from '../../../src/memory.js';
import type { WrongCoordinator } from './wrong.js';

/** The queue is asked and the reservation is not. */
class BlindStore extends MemoryStore {
  override vacated(name: string): void {
    const record = this.records.get(name);
    this.records.delete(name);
    super.vacated(name);
    if (record !== undefined) this.records.set(name, record);
  }
}

export const callsTheFirst: WrongCoordinator = {
  mistake: 'calls the first of the queue to a name that is reserved for another',
  rejectedBy: 'calls/handoff',
  createStore: (runtime) => new BlindStore({ runtime }),
};
