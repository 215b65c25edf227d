// @ts-check
/**
 * What is to be tested: a program that keeps the total of an account, one process at a time.
 *
 * @typedef {import('tenure').Lease} Lease
 *
 * @typedef {object} Ledger
 * @property {(lease: Lease) => Promise<number>} read
 * @property {(total: number, lease: Lease) => Promise<void>} write
 */

/**
 * Adds an amount to the total. Reads it, and writes it anew: two who do that at a time lose what one of them has booked.
 *
 * @param {Ledger} ledger
 * @param {Lease} lease
 * @param {number} amount
 */
export async function book(ledger, lease, amount) {
  const total = await ledger.read(lease);
  lease.assertHeld(); // a process can freeze right after this line
  await ledger.write(total + amount, lease);
}

/**
 * A ledger that believes whoever writes.
 *
 * @param {import('tenure/memory').MemoryResource} resource
 * @returns {Ledger}
 */
export function trustingLedger(resource) {
  return {
    read: async () => Number(resource.read('total') ?? 0),
    write: (total) => resource.transaction(async (transaction) => transaction.set('total', total)),
  };
}

/**
 * A ledger behind a fence: the term is claimed before anything is read, and compared in the transaction that writes.
 *
 * @param {import('tenure/memory').MemoryFence} fence
 * @returns {Ledger}
 */
export function fencedLedger(fence) {
  return {
    async read(lease) {
      await fence.claim(lease);
      return Number(fence.resource.read('total') ?? 0);
    },
    write: (total, lease) =>
      fence.transaction(lease, async (transaction) => transaction.set('total', total)),
  };
}
