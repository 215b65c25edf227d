import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

export const foreignOverwritten: WrongCoordinator = {
  mistake: "writes over somebody else's record",
  rejectedBy: 'damage/overwritten-acquire',
  wrap: (honest, store) =>
    altered(honest, {
      acquire: (requests, call) => {
        for (const { name } of requests) {
          if (store.records.get(name)?.kind === 'foreign') store.records.delete(name);
        }
        return honest.acquire(requests, call);
      },
    }),
};
