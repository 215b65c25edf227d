import type { StoredRecord } from '../../../src/coordinators/rules/record.js';
import { MemoryStore } from '../../../src/memory.js';
import type { WrongCoordinator } from './wrong.js';

/** Observers take the leader for one that nobody touched, until it has gone. */
class SilentRevocationStore extends MemoryStore {
  override altered(name: string): void {
    if (!isRevoked(this.records.get(name))) super.altered(name);
  }
}

function isRevoked(record: StoredRecord | undefined): boolean {
  return record?.kind === 'lease' && record.revocation !== undefined;
}

export const silentRevocation: WrongCoordinator = {
  mistake: 'tells nobody who watches that a lease was revoked',
  rejectedBy: 'watches/revoke',
  createStore: (runtime) => new SilentRevocationStore({ runtime }),
};
