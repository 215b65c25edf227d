import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

export const releaseAnyTerm: WrongCoordinator = {
  mistake: 'releases a lease of the same holder in whatever term',
  rejectedBy: 'releases/other-term',
  wrap: (honest, store) =>
    altered(honest, {
      release: (requests, call) =>
        honest.release(
          requests.map((request) => {
            const record = store.records.get(request.name);
            return record?.kind === 'lease'
              ? { name: request.name, holder: request.holder, term: record.term }
              : request;
          }),
          call,
        ),
    }),
};
