import type { HistoryEntry } from '../../../src/coordinators/index.js';
import { Histories } from '../../../src/coordinators/memory/histories.js';
import { MemoryStore } from '../../../src/memory.js';
import type { WrongCoordinator } from './wrong.js';

class EndlessHistories extends Histories {
  readonly #all: HistoryEntry[] = [];

  override add(name: string, entry: HistoryEntry): void {
    super.add(name, entry);
    this.#all.push(entry);
  }

  override of(): HistoryEntry[] {
    return this.#all;
  }
}

class EndlessStore extends MemoryStore {
  override readonly histories = new EndlessHistories({ nowMs: () => 0, isInUse: () => true });
}

export const endlessHistory: WrongCoordinator = {
  mistake: 'keeps every line of history for ever',
  rejectedBy: 'history/bounded',
  createStore: (runtime) => new EndlessStore({ runtime }),
};
