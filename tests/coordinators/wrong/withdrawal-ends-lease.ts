import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** All that stands under the name for this holder is taken away. */
export const withdrawalEndsLease: WrongCoordinator = {
  mistake: 'ends the lease of who takes back its entry',
  rejectedBy: 'candidates/withdraw-beside-acquire',
  wrap: (honest, store) =>
    altered(honest, {
      withdraw: async (requests, call) => {
        await honest.withdraw(requests, call);
        for (const { name, holder } of requests) {
          const record = store.records.get(name);
          if (record?.kind === 'lease' && record.holder.equals(holder)) store.records.delete(name);
        }
      },
    }),
};
