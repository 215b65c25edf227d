import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

let lastNumber = 0;

/** Two steps, the number first: a claim that is delayed between them wins later with a smaller term. */
export const earlyNumber: WrongCoordinator = {
  mistake: 'takes the term from a counter before it claims the name',
  rejectedBy: 'terms/delayed-claim',
  wrap: (honest, store) =>
    altered(honest, {
      acquire: async (requests, call) => {
        const numbers = requests.map(() => ++lastNumber);
        const results = await honest.acquire(requests, call);
        return results.map((result, index) => {
          const name = requests[index]?.name ?? '';
          const record = store.records.get(name);
          if (result.outcome !== 'granted' || record?.kind !== 'lease') return result;
          const term = numbers[index] ?? 0;
          store.records.set(name, { ...record, term });
          return { outcome: 'granted', term };
        });
      },
    }),
};
