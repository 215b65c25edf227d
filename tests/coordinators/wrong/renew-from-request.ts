import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** The clock is read before the request is sent, so what the network takes is missing from the lease. */
export const renewFromRequest: WrongCoordinator = {
  mistake: 'extends from the moment the renewal was sent',
  rejectedBy: 'renewals/from-execution',
  wrap: (honest, store) =>
    altered(honest, {
      renew: async (requests, call) => {
        const sentAtMs = store.elapsedMs();
        const results = await honest.renew(requests, call);
        for (const [index, { name, ttlMs }] of requests.entries()) {
          const record = store.records.get(name);
          if (results[index]?.outcome !== 'renewed' || record?.kind !== 'lease') continue;
          store.records.set(name, { ...record, deadlineMs: sentAtMs + ttlMs });
        }
        return results;
      },
    }),
};
