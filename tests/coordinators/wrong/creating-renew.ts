import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** An "upsert": convenient until the record is gone because somebody else is about to get it. */
export const creatingRenew: WrongCoordinator = {
  mistake: 'creates a lease anew when its renewal finds nothing',
  rejectedBy: 'renewals/never-create',
  wrap: (honest, store) =>
    altered(honest, {
      renew: async (requests, call) => {
        const results = await honest.renew(requests, call);
        return results.map((result, index) => {
          const request = requests[index];
          const isGone = result.outcome === 'not-yours' && result.reason === 'vanished';
          if (!isGone || request === undefined) return result;
          store.records.set(request.name, {
            kind: 'lease',
            holder: request.holder,
            attempt: '0'.repeat(32),
            term: request.term,
            ttlMs: request.ttlMs,
            deadlineMs: store.elapsedMs() + request.ttlMs,
            grantedAtMs: store.runtime.now().wallMs,
            renewedAtMs: store.runtime.now().wallMs,
            metadata: request.metadata,
            graceMs: 0,
            revocation: undefined,
          });
          return { outcome: 'renewed' };
        });
      },
    }),
};
