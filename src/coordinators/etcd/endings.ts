import type { EtcdKeyValue } from '../../drivers/etcd/index.js';
import type { Ledger } from '../rules/ledger.js';
import { afterExpiry, type StoredRecord } from '../rules/record.js';
import type { HeldLease } from './holdings.js';
import { afterValue } from './values.js';

/** What the rules do when the time of a lease is over, if it still stands there. */
export function endLease(ledger: Ledger, holding: HeldLease, nowMs: number): void {
  const { name } = holding;
  const record = ledger.records.get(name);
  const isOurs =
    record?.kind === 'lease' &&
    record.attempt === holding.attempt &&
    record.holder.equals(holding.holder);
  if (!isOurs) return;
  put(ledger, name, afterExpiry({ ...record, deadlineMs: nowMs }));
  const reason = record.revocation === undefined ? 'expired' : 'revoked';
  ledger.histories.close(name, record.term, reason, nowMs);
  ledger.vacated(name);
}

/** A lock-delay or a reservation is over: after a lock-delay, the successor that was named has its time. */
export function endFollowing(ledger: Ledger, name: string, kv: EtcdKeyValue, nowMs: number): void {
  const record = ledger.records.get(name);
  const value = afterValue(kv.value, kv.modRevision);
  if (record?.kind === 'lease' || record?.kind === 'foreign' || value === undefined) return;
  const { term, delayMs, reserveMs, to } = value;
  const deadlineMs = nowMs + reserveMs;
  const isNamed = delayMs > 0 && to !== undefined;
  put(ledger, name, isNamed ? { kind: 'reservation', to, term, deadlineMs } : undefined);
  ledger.vacated(name);
}

function put(ledger: Ledger, name: string, after: StoredRecord | undefined): void {
  if (after === undefined) ledger.records.delete(name);
  else ledger.records.set(name, after);
}
