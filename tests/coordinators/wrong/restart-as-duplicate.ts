import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** After every crash the new process is told that it is there twice, until nobody listens any more. */
export const restartAsDuplicate: WrongCoordinator = {
  mistake: 'takes the entry of a process that has ended for another live one of its id',
  rejectedBy: 'candidates/no-duplicate',
  wrap: (honest, store) =>
    altered(honest, {
      enroll: async (requests, call) => {
        const results = await honest.enroll(requests, call);
        return results.map((result, index) => {
          const { name = '', holder } = requests[index] ?? {};
          const namesakes = store.candidates.of(name).filter(({ id }) => id === holder?.id);
          return { ...result, duplicate: namesakes.length > 1 };
        });
      },
    }),
};
