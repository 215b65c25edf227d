import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** The holder is asked to go and never hears of it. */
export const renewsRevoked: WrongCoordinator = {
  mistake: 'renews a lease that an operator has revoked',
  rejectedBy: 'revocations/not-renewed',
  wrap: (honest, store) =>
    altered(honest, {
      renew: (requests, call) => {
        for (const { name } of requests) {
          const record = store.records.get(name);
          if (record?.kind === 'lease') {
            store.records.set(name, { ...record, revocation: undefined });
          }
        }
        return honest.renew(requests, call);
      },
    }),
};
