import { StaleTermError } from '../../errors/index.js';
import type { Lease } from '../../leases/index.js';

/** Handlers and database layers wrap errors; nobody wraps them deeper than this. */
const deepestCause = 8;

/**
 * The refusal of this very lease by a fence, in the error or among its causes. A stale term of another name says
 * nothing about this shard: the handler may hold leases of its own.
 */
export function staleTermOf(lease: Lease, error: unknown): StaleTermError | undefined {
  let candidate = error;
  for (let depth = 0; depth < deepestCause && candidate instanceof Error; depth++) {
    if (candidate instanceof StaleTermError && candidate.resource === lease.name) return candidate;
    candidate = candidate.cause;
  }
  return undefined;
}
