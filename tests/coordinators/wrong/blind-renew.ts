import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** "Set if exists" instead of "set if mine". */
export const blindRenew: WrongCoordinator = {
  mistake: 'renews whatever lease stands under the name',
  rejectedBy: 'renewals/stale',
  wrap: (honest, store) =>
    altered(honest, {
      renew: (requests, call) =>
        honest.renew(
          requests.map((request) => {
            const record = store.records.get(request.name);
            return record?.kind === 'lease'
              ? { ...request, holder: record.holder, term: record.term }
              : request;
          }),
          call,
        ),
    }),
};
