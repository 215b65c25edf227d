import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** "Since when" is the time of the last write: whoever waits longest and refreshes stands last. */
export const placeLost: WrongCoordinator = {
  mistake: 'puts a candidate at the end of the queue when it refreshes its entry',
  rejectedBy: 'candidates/refresh',
  wrap: (honest, store) =>
    altered(honest, {
      enroll: (requests, call) => {
        for (const { name, holder } of requests) store.candidates.withdraw(name, holder);
        return honest.enroll(requests, call);
      },
    }),
};
