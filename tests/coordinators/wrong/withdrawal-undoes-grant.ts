import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** "It has no lease" was true when the withdrawal began: whatever stands there at its end is taken for what it left behind. */
export const withdrawalUndoesGrant: WrongCoordinator = {
  mistake: 'takes a lease that was granted during a withdrawal for a part of the entry',
  rejectedBy: 'candidates/withdraw-after-grant',
  wrap: (honest, store) =>
    altered(honest, {
      withdraw: async (requests, call) => {
        const isHeld = (name: string) => store.records.get(name)?.kind === 'lease';
        const free = requests.filter(({ name }) => !isHeld(name));
        await honest.withdraw(requests, call);
        for (const { name } of free) store.records.delete(name);
      },
    }),
};
