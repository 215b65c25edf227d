import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

export const releaseAnyHolder: WrongCoordinator = {
  mistake: 'releases a lease in the right term for whoever asks',
  rejectedBy: 'releases/other-holder',
  wrap: (honest, store) =>
    altered(honest, {
      release: (requests, call) =>
        honest.release(
          requests.map((request) => {
            const record = store.records.get(request.name);
            return record?.kind === 'lease' ? { ...request, holder: record.holder } : request;
          }),
          call,
        ),
    }),
};
