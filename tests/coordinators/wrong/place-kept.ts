import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** Who withdraws is hidden instead of forgotten, and nobody ever removes the entry. */
export const placeKept: WrongCoordinator = {
  mistake: 'leaves an entry behind when its candidate withdraws',
  rejectedBy: 'candidates/withdraw',
  wrap: (honest) =>
    altered(honest, {
      withdraw: async (requests, call) => {
        const hidden = { standing: 'observing', preference: 0, ttlMs: 60_000 } as const;
        await honest.enroll(
          requests.map((request) => ({ ...request, ...hidden })),
          call,
        );
      },
    }),
};
