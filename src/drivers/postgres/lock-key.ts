import { createHash } from 'node:crypto';

/**
 * A key for a transaction-level advisory lock, as decimal text of a signed 64-bit integer. Two names that share one by
 * accident wait for each other; nothing else depends on it.
 */
export function lockKey(...parts: readonly string[]): string {
  const text = JSON.stringify(['tenure.fence', ...parts]);
  return createHash('sha256').update(text).digest().readBigInt64BE().toString();
}

/** Whoever creates or changes something in a schema of ours holds this lock, be it the tables of leases or of fences. */
export const migrationLockKey = lockKey('migrate');
