import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** A lock-delay tied to the end of a lease and not to its expiry: every planned move waits for nothing. */
export const delayAfterRelease: WrongCoordinator = {
  mistake: 'lets a lock-delay follow a release',
  rejectedBy: 'lock-delays/not-after-release',
  wrap: (honest, store) =>
    altered(honest, {
      release: async (requests, call) => {
        const before = requests.map(({ name }) => store.records.get(name));
        const results = await honest.release(requests, call);
        for (const [index, { name }] of requests.entries()) {
          const lease = before[index];
          if (lease?.kind !== 'lease' || results[index]?.outcome !== 'ended') continue;
          const deadlineMs = store.elapsedMs() + lease.graceMs;
          const { term, revocation } = lease;
          store.records.set(name, { kind: 'lock-delay', term, deadlineMs, revocation });
        }
        return results;
      },
    }),
};
