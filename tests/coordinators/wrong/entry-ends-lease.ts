import { elapsedMs, sleep } from '../../../src/time/index.js';
import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** What was known to be over when the request was sent is taken away when it is executed, whatever stands there by then. */
export const entryEndsLease: WrongCoordinator = {
  mistake:
    'ends with the refresh of an entry what its holder holds, since that was over when it was sent',
  rejectedBy: 'lateness/entry-of-another-term',
  wrap: (honest, store) => {
    const { runtime } = store;
    const ends = new Map<string, () => boolean>();
    return altered(honest, {
      acquire: (requests, call) => {
        const from = runtime.now();
        for (const { name, ttlMs } of requests)
          ends.set(name, () => elapsedMs(from, runtime.now()) >= ttlMs);
        return honest.acquire(requests, call);
      },
      enroll: async (requests, call) => {
        const over = requests.filter(({ name }) => ends.get(name)?.() === true);
        try {
          return await honest.enroll(requests, call);
        } catch (error) {
          const end = () => {
            for (const { name } of over) store.records.delete(name);
          };
          sleep(runtime, 1).then(end, () => undefined);
          throw error;
        }
      },
    });
  },
};
