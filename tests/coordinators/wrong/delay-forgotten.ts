import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** The lease is written anew at each renewal, from a request that knows nothing of a lock-delay. */
export const delayForgotten: WrongCoordinator = {
  mistake: 'forgets the lock-delay of a lease when it is renewed',
  rejectedBy: 'lock-delays/stay-with-the-lease',
  wrap: (honest, store) =>
    altered(honest, {
      renew: async (requests, call) => {
        const results = await honest.renew(requests, call);
        for (const { name } of requests) {
          const record = store.records.get(name);
          if (record?.kind === 'lease') store.records.set(name, { ...record, graceMs: 0 });
        }
        return results;
      },
    }),
};
