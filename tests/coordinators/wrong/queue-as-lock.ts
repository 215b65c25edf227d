import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** A dead first in line then keeps the name from everybody until its entry ends. */
export const queueAsLock: WrongCoordinator = {
  mistake: 'grants a name to nobody but the first of its queue',
  rejectedBy: 'candidates/grant-nothing',
  wrap: (honest, store) =>
    altered(honest, {
      acquire: async (requests, call) => {
        for (const { name, holder } of requests) {
          const [first] = store.candidates.waitingFor(name);
          if (first === undefined || first.id === holder.id) continue;
          const deadlineMs = store.elapsedMs() + 1000;
          store.records.set(name, { kind: 'reservation', to: first.id, term: 1, deadlineMs });
        }
        return honest.acquire(requests, call);
      },
    }),
};
