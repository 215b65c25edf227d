import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** The holder learns of it at its next renewal; until then there are two who believe. */
export const revokeAtOnce: WrongCoordinator = {
  mistake: 'gives a name away the moment its lease is revoked',
  rejectedBy: 'revocations/not-early',
  wrap: (honest, store) =>
    altered(honest, {
      revoke: async (name, request, call) => {
        const answer = await honest.revoke(name, request, call);
        const record = store.records.get(name);
        if (record?.kind === 'lease') {
          store.records.set(name, { ...record, deadlineMs: store.elapsedMs() });
        }
        return answer;
      },
    }),
};
