import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** The switch stops the next one, and whoever leads goes on for as long as it renews. */
export const suspendsLaterOnly: WrongCoordinator = {
  mistake: 'suspends a name without revoking its present term',
  rejectedBy: 'suspensions/held-name',
  wrap: (honest, store) =>
    altered(honest, {
      suspend: async (name, act, call) => {
        const answer = await honest.suspend(name, act, call);
        const record = store.records.get(name);
        if (record?.kind === 'lease') {
          store.records.set(name, { ...record, revocation: undefined });
        }
        return answer;
      },
    }),
};
