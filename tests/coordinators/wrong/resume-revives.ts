import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** Its holder may have let its work go already; a term that an operator ended does not come back. */
export const resumeRevives: WrongCoordinator = {
  mistake: 'lets a revoked term be renewed again once its name is resumed',
  rejectedBy: 'suspensions/resume-early',
  wrap: (honest, store) =>
    altered(honest, {
      resume: async (name, act, call) => {
        const answer = await honest.resume(name, act, call);
        const record = store.records.get(name);
        if (record?.kind === 'lease') {
          store.records.set(name, { ...record, revocation: undefined });
        }
        return answer;
      },
    }),
};
