import type { EtcdKeyValue } from '../../drivers/etcd/index.js';
import type { Ledger } from '../rules/ledger.js';
import { afterExpiry, type StoredRecord } from '../rules/record.js';
import type { SnapshotLedger } from '../rules/snapshot.js';
import type { HeldLease, Holding } from './holdings.js';
import type { View } from './reader.js';
import type { Step } from './step.js';
import { afterValue } from './values.js';
import { leaderOf, overdueTerms } from './view.js';

/** The step that ends what this coordinator holds and has not renewed. */
export function ending(holding: Holding): Pick<Step<void>, 'names' | 'operation' | 'execute'> {
  const { kind, name } = holding;
  const names = [name];
  if (kind === 'after') {
    const execute = (ledger: Ledger, view: View) => {
      const after = view.names.get(name)?.after;
      if (after?.modRevision === holding.modRevision)
        endFollowing(ledger, name, after, view.facts.wallMs);
    };
    return { names, operation: 'follow', execute };
  }
  if (kind === 'candidate') {
    const execute = (ledger: Ledger, view: View) => {
      const kv = view.names.get(name)?.candidateKeys.find(({ key }) => key === holding.key);
      if (kv?.lease === holding.leaseId) ledger.candidates.withdraw(name, holding.holder);
    };
    return { names, operation: 'withdraw', execute };
  }
  const execute = (ledger: Ledger, view: View) => {
    const names = view.names.get(name);
    const leader = names && leaderOf(names);
    // Another coordinator, such as one of another thread, may renew it by now.
    const isOurs = leader?.kv.lease === holding.leaseId || holding.leaseId === '';
    if (isOurs) endLease(ledger, holding, view.facts.wallMs);
  };
  return { names, operation: 'expire', execute };
}

/** Ends the lines of terms whose store lease is gone: nobody was there to write it. */
export function closeOverdue(ledger: SnapshotLedger, view: View): void {
  for (const names of view.names.values()) {
    for (const { term, grantedAtMs } of overdueTerms(names)) {
      const lease = names.history.leases[term];
      if (lease !== undefined && view.facts.lives.has(lease)) continue;
      const isRevoked = names.history.lines.some(
        (line) => line.kind === 'act' && line.act !== 'resume' && line.atMs >= grantedAtMs,
      );
      const reason = isRevoked ? 'revoked' : 'expired';
      ledger.histories.close(names.name, term, reason, view.facts.wallMs);
    }
  }
}

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
function endFollowing(ledger: Ledger, name: string, kv: EtcdKeyValue, nowMs: number): void {
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
