import type { FenceSubject } from '../../src/fences/conformance/index.js';
import type { TransactionFence } from '../../src/fences/index.js';
import { MemoryResource, type MemoryTransaction } from '../../src/fences/memory/index.js';

/** A conformance subject on a new memory resource, guarded by whatever fence `guard` puts around it. */
export function memorySubject(
  guard: (resource: MemoryResource) => TransactionFence<MemoryTransaction>,
): FenceSubject<MemoryTransaction> {
  const resource = new MemoryResource();
  const fence = guard(resource);
  const other = guard(resource);
  return {
    fence,
    other,
    transaction: (work) => resource.transaction(work),
    write: async (transaction, key, value) => transaction.set(key, value),
    read: async (key) => resource.read(key) as string | undefined,
    close: async () => {
      await Promise.all([fence.close(), other.close()]);
    },
  };
}
