import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** Terms run ahead of the clock with every large batch, and fall once the last one is forgotten. */
export const termEach: WrongCoordinator = {
  mistake: 'takes one more term for each name of a call',
  rejectedBy: 'restarts/without-data-after-a-batch',
  wrap: (honest) =>
    altered(honest, {
      acquire: async (requests, call) => {
        const answers = requests.map((request) => honest.acquire([request], call));
        return (await Promise.all(answers)).flat();
      },
    }),
};
