import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** Kept in the record of the lease, the suspension goes when that goes. */
export const suspensionWithTheLease: WrongCoordinator = {
  mistake: 'forgets that a name is suspended when its lease is released',
  rejectedBy: 'suspensions/release',
  wrap: (honest, store) =>
    altered(honest, {
      release: async (requests, call) => {
        const results = await honest.release(requests, call);
        for (const { name } of requests) store.suspensions.delete(name);
        return results;
      },
    }),
};
