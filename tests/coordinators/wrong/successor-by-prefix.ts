import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

export const successorByPrefix: WrongCoordinator = {
  mistake: 'takes any id that begins like the successor for the successor',
  rejectedBy: 'handoffs/successor-compared-whole',
  wrap: (honest, store) =>
    altered(honest, {
      acquire: (requests, call) => {
        for (const { name, holder } of requests) {
          const record = store.records.get(name);
          if (record?.kind === 'reservation' && holder.id.startsWith(record.to)) {
            store.records.delete(name);
          }
        }
        return honest.acquire(requests, call);
      },
    }),
};
