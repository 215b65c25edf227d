import type { Call, Holder } from '../../../src/coordinators/index.js';
import type { Unsubscribe } from '../../../src/events/index.js';
import { MemoryStore } from '../../../src/memory.js';
import type { WrongCoordinator } from './wrong.js';

/** The herd: five hundred are called, and four hundred and ninety-nine ask in vain. */
class LoudStore extends MemoryStore {
  readonly #listeners = new Set<(call: Call) => void>();

  override onCalled(_holder: Holder, called: (call: Call) => void): Unsubscribe {
    this.#listeners.add(called);
    return () => this.#listeners.delete(called);
  }

  override vacated(name: string): void {
    super.vacated(name);
    const candidates = this.candidates.waitingFor(name);
    if (candidates.length === 0) return;
    for (const [position, called] of [...this.#listeners].entries()) called({ name, position });
  }
}

export const callsEverybody: WrongCoordinator = {
  mistake: 'calls everybody who listens when a name becomes free',
  rejectedBy: 'calls/first-three',
  createStore: (runtime) => new LoudStore({ runtime }),
};
