import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** Two guards, asked in the wrong order: "reserved for you" is answered before "for nobody" is asked. */
export const suspensionNotForSuccessor: WrongCoordinator = {
  mistake: 'grants a suspended name to the successor that it is reserved for',
  rejectedBy: 'suspensions/reserved-name',
  wrap: (honest, store) =>
    altered(honest, {
      acquire: (requests, call) => {
        for (const { name, holder } of requests) {
          const record = store.records.get(name);
          if (record?.kind === 'reservation' && record.to === holder.id) {
            store.suspensions.delete(name);
          }
        }
        return honest.acquire(requests, call);
      },
    }),
};
