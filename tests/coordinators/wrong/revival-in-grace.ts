import type { StoredLease } from '../../../src/coordinators/rules/record.js';
import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** The record is still there, so it looks as if the lease were: but its holder has stopped believing in it. */
export const revivalInGrace: WrongCoordinator = {
  mistake: 'renews a lease that has expired, as long as its lock-delay lasts',
  rejectedBy: 'lock-delays/no-revival',
  wrap: (honest, store) => {
    const leases = new Map<string, StoredLease>();
    return altered(honest, {
      acquire: async (requests, call) => {
        const results = await honest.acquire(requests, call);
        for (const { name } of requests) {
          const record = store.records.get(name);
          if (record?.kind === 'lease') leases.set(name, record);
        }
        return results;
      },
      renew: (requests, call) => {
        store.expire();
        for (const { name, ttlMs } of requests) {
          const lease = leases.get(name);
          if (lease === undefined || store.records.get(name)?.kind !== 'lock-delay') continue;
          store.records.set(name, { ...lease, deadlineMs: store.elapsedMs() + ttlMs });
        }
        return honest.renew(requests, call);
      },
    });
  },
};
