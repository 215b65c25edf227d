import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

export const shuffledAnswers: WrongCoordinator = {
  mistake: 'answers a batch of renewals in another order than it was asked in',
  rejectedBy: 'batches/by-index',
  wrap: (honest) =>
    altered(honest, {
      renew: async (requests, call) => {
        const results = await honest.renew(requests, call);
        const [first, ...others] = results;
        return first === undefined ? results : [...others, first];
      },
    }),
};
