import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** A frozen owner that wakes and heals its term would leap over its successor. */
export const raisedTerm: WrongCoordinator = {
  mistake: 'raises the term of a lease that is held when asked for a higher one',
  rejectedBy: 'terms/above-held',
  wrap: (honest, store) =>
    altered(honest, {
      acquire: (requests, call) => {
        for (const { name, holder, above = 0 } of requests) {
          const record = store.records.get(name);
          if (record?.kind !== 'lease' || !record.holder.equals(holder)) continue;
          store.records.set(name, { ...record, term: Math.max(record.term, above + 1) });
        }
        return honest.acquire(requests, call);
      },
    }),
};
