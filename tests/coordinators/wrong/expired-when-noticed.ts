import { Histories } from '../../../src/coordinators/memory/histories.js';
import { MemoryStore } from '../../../src/memory.js';
import type { VirtualRuntime } from '../../../src/testing.js';
import type { WrongCoordinator } from './wrong.js';

class LateHistories extends Histories {
  readonly #runtime: VirtualRuntime;

  constructor(runtime: VirtualRuntime) {
    super({ nowMs: () => 0, isInUse: () => true });
    this.#runtime = runtime;
  }

  override close(name: string, term: number, endReason: string): void {
    super.close(name, term, endReason, this.#runtime.now().wallMs);
  }
}

class LateStore extends MemoryStore {
  override readonly histories: Histories;

  constructor(runtime: VirtualRuntime) {
    super({ runtime });
    this.histories = new LateHistories(runtime);
  }
}

/** Nobody asked for a week: then it seems to have been led for a week. */
export const expiredWhenNoticed: WrongCoordinator = {
  mistake: 'takes the time when an expiry is noticed for the time of the expiry',
  rejectedBy: 'history/expired',
  createStore: (runtime) => new LateStore(runtime),
};
