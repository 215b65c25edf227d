import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** A restarted process renews the lease of its own earlier life, whose work nobody has stopped. */
export const holderById: WrongCoordinator = {
  mistake: 'compares the id of a holder and not its nonce',
  rejectedBy: 'renewals/other-incarnation',
  wrap: (honest, store) =>
    altered(honest, {
      renew: (requests, call) =>
        honest.renew(
          requests.map((request) => {
            const record = store.records.get(request.name);
            return record?.kind === 'lease' && record.holder.id === request.holder.id
              ? { ...request, holder: record.holder }
              : request;
          }),
          call,
        ),
    }),
};
