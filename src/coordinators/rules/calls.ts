import type { StoredCandidate } from './candidate.js';
import type { Ledger } from './ledger.js';
import { describeName } from './standing.js';

/**
 * Who waits for the name and may be granted it now, in the order in which they are called: the successor alone if it is
 * reserved; nobody while it is held, suspended or in its lock-delay, or something foreign stands there. How many of them
 * are called, `calledCount` says.
 */
export function whoMayHave(ledger: Ledger, name: string, nowMs: number): StoredCandidate[] {
  if (ledger.foreignText(name) !== undefined) return [];
  const current = describeName(ledger, name, nowMs);
  if (current === undefined) return ledger.candidates.waitingFor(name);
  if (current.state !== 'reserved') return [];
  return ledger.candidates.waitingFor(name).filter(({ id }) => id === current.to);
}
