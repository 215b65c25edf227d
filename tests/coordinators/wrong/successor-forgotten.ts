import { MemoryStore } from '../../../src/memory.js';
import type { WrongCoordinator } from './wrong.js';

/** Who has crashed releases nothing: then the wish of the operator goes with the record. */
class ForgetfulStore extends MemoryStore {
  override expire(): number {
    const nowMs = this.elapsedMs();
    for (const name of this.records.namesIn('group-1')) {
      const record = this.records.get(name);
      if (record?.kind === 'lease' && record.deadlineMs <= nowMs) this.records.delete(name);
    }
    return super.expire();
  }
}

export const successorForgotten: WrongCoordinator = {
  mistake: 'reserves the name for the successor of a revoked lease only if that is released',
  rejectedBy: 'revocations/successor-after-expiry',
  createStore: (runtime) => new ForgetfulStore({ runtime }),
};
