import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** The holder is recognised, but the repeated attempt is granted afresh: two terms for one attempt. */
export const repeatedGrant: WrongCoordinator = {
  mistake: 'grants a repeated attempt anew, with another term',
  rejectedBy: 'grants/attempt-again',
  wrap: (honest, store) =>
    altered(honest, {
      acquire: (requests, call) => {
        for (const { name, holder, attempt } of requests) {
          const record = store.records.get(name);
          const isSame =
            record?.kind === 'lease' && record.holder.equals(holder) && record.attempt === attempt;
          if (isSame) store.records.delete(name);
        }
        return honest.acquire(requests, call);
      },
    }),
};
