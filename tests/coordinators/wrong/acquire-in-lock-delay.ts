import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** What has expired is gone: true of a lease, not of the pause that its work needs to stop in. */
export const acquireInLockDelay: WrongCoordinator = {
  mistake: 'grants a name during its lock-delay',
  rejectedBy: 'lock-delays/after-expiry',
  wrap: (honest, store) =>
    altered(honest, {
      acquire: (requests, call) => {
        store.expire();
        for (const { name } of requests) {
          if (store.records.get(name)?.kind === 'lock-delay') store.records.delete(name);
        }
        return honest.acquire(requests, call);
      },
    }),
};
