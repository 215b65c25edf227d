import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** After a lost reply the holder is kept out by its own lease, in a term it never learns. */
export const forgottenAttempt: WrongCoordinator = {
  mistake: 'does not recognise the second execution of an attempt',
  rejectedBy: 'lost-replies/acquire',
  wrap: (honest, store) =>
    altered(honest, {
      acquire: (requests, call) =>
        honest.acquire(
          requests.map((request) => ({ ...request, attempt: store.runtime.randomHex(16) })),
          call,
        ),
    }),
};
