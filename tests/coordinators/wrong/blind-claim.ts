import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** A plain write: the "only if not there" is missing. */
export const blindClaim: WrongCoordinator = {
  mistake: 'grants a name without looking whether it is held',
  rejectedBy: 'grants/exclusive',
  wrap: (honest, store) =>
    altered(honest, {
      acquire: (requests, call) => {
        for (const { name } of requests) store.records.delete(name);
        return honest.acquire(requests, call);
      },
    }),
};
