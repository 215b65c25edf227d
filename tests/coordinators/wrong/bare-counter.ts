import { MemoryStore } from '../../../src/memory.js';
import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

class CountingStore extends MemoryStore {
  count = 0;

  override restart(options: { readonly keepData: boolean }): void {
    super.restart(options);
    if (!options.keepData) this.count = 0;
  }
}

/** Last + 1 without the clock as a floor: the numbers begin again when the data is gone. */
export const bareCounter: WrongCoordinator = {
  mistake: 'grants terms again that it granted before it lost its data',
  rejectedBy: 'restarts/without-data',
  createStore: (runtime) => new CountingStore({ runtime }),
  wrap: (honest, store) =>
    altered(honest, {
      acquire: async (requests, call) => {
        const results = await honest.acquire(requests, call);
        return results.map((result, index) => {
          const name = requests[index]?.name ?? '';
          const record = store.records.get(name);
          const isCounting = store instanceof CountingStore;
          if (result.outcome !== 'granted' || record?.kind !== 'lease' || !isCounting)
            return result;
          store.count += 1;
          store.records.set(name, { ...record, term: store.count });
          return { outcome: 'granted', term: store.count };
        });
      },
    }),
};
