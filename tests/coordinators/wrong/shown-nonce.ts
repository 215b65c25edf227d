import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** Whoever may list candidates could then renew and release what they will hold. */
export const shownNonce: WrongCoordinator = {
  mistake: 'shows the nonce of a candidate to everybody',
  rejectedBy: 'candidates/whole-entry',
  wrap: (honest, store) =>
    altered(honest, {
      candidates: async (name, call) => {
        const entries = await honest.candidates(name, call);
        const stored = store.candidates.of(name);
        return entries.map((entry, index) => {
          const [, nonce = ''] = stored[index]?.holder.wire.split(':') ?? [];
          return { ...entry, nonce };
        });
      },
    }),
};
