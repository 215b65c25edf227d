import type { Ledger } from '../rules/ledger.js';
import { afterExpiry } from '../rules/record.js';
import type { Following, HeldLease } from './holdings.js';

/** What the rules do when the time of something is over, if it still stands there. */
export function endLease(ledger: Ledger, holding: HeldLease | Following, nowMs: number): void {
  const { name } = holding;
  const record = ledger.records.get(name);
  if (record === undefined || record.kind === 'foreign') return;
  if (holding.kind === 'after') {
    if (record.kind === 'lease') return;
    const after = record.kind === 'lock-delay' && afterExpiry({ ...record, deadlineMs: nowMs });
    put(ledger, name, after === false ? undefined : after);
    ledger.vacated(name);
    return;
  }
  const isOurs =
    record.kind === 'lease' &&
    record.attempt === holding.attempt &&
    record.holder.equals(holding.holder);
  if (!isOurs) return;
  const after = afterExpiry({ ...record, deadlineMs: nowMs });
  put(ledger, name, after);
  const reason = record.revocation === undefined ? 'expired' : 'revoked';
  ledger.histories.close(name, record.term, reason, nowMs);
  ledger.vacated(name);
}

function put(ledger: Ledger, name: string, after: ReturnType<typeof afterExpiry>): void {
  if (after === undefined) ledger.records.delete(name);
  else ledger.records.set(name, after);
}
