import type { EtcdKeyValue } from '../../drivers/etcd/index.js';
import type { Ledger } from '../rules/ledger.js';
import { afterExpiry, type StoredRecord } from '../rules/record.js';
import type { SnapshotLedger } from '../rules/snapshot.js';
import type { HeldLease, Holding, Holdings } from './holdings.js';
import type { View } from './reader.js';
import type { Step } from './step.js';
import type { StoreLeases } from './store-leases.js';
import { afterValue } from './values.js';
import { leaderOf, overdueTerms } from './view.js';

type Ending = Pick<Step<void>, 'names' | 'operation' | 'execute' | 'sought'>;

/** What is needed to know whether something is still to be ended. */
export interface EndingParts {
  readonly holdings: Holdings;
  readonly leases: StoreLeases;
}

/** The step that ends what this coordinator holds and has not renewed. */
export function ending(holding: Holding, parts: EndingParts): Ending {
  const { kind, name } = holding;
  const names = [name];
  const { holdings, leases } = parts;
  if (kind === 'after') {
    const execute = (ledger: Ledger, view: View) => {
      const after = view.names.get(name)?.after;
      if (after?.modRevision === holding.modRevision)
        endFollowing(ledger, name, after, view.facts.wallMs);
    };
    return { names, operation: 'follow', execute };
  }
  if (kind === 'lease') return endingOfLease(holding, holdings);
  if (kind === 'doubt' && holding.attempt !== undefined) {
    const { attempt, holder } = holding;
    const execute = (ledger: Ledger, view: View) => {
      const names = view.names.get(name);
      const isOnOurs = leases.owns(names && leaderOf(names)?.kv.lease);
      // It was renewed since, or another coordinator, such as one of another thread, renews it.
      if (holdings.lastLeaseOf(name)?.attempt !== attempt && isOnOurs)
        endLease(ledger, { name, holder, attempt }, view.facts.wallMs);
    };
    return { names, operation: 'expire', execute };
  }
  const isOurs = (leaseId: string | undefined) =>
    kind === 'doubt'
      ? leases.owns(leaseId) && !holdings.knowsEntry(name, holding.key)
      : leaseId === holding.leaseId && holdings.isEnding(holding);
  const execute = (ledger: Ledger, view: View) => {
    const kv = view.names.get(name)?.candidateKeys.find(({ key }) => key === holding.key);
    if (isOurs(kv?.lease)) ledger.candidates.withdraw(name, holding.holder);
  };
  const sought = new Map([[name, { holder: holding.holder }]]);
  return { names, operation: 'withdraw', execute, sought };
}

function endingOfLease(holding: HeldLease, holdings: Holdings): Ending {
  const { name, holder, attempt, lifeMs: ttlMs, leaseId } = holding;
  let renewedAtMs: number | undefined;
  const execute = (ledger: Ledger, view: View) => {
    const names = view.names.get(name);
    const leader = names && leaderOf(names);
    // Another coordinator, such as one of another thread, may renew it by now.
    if (leader?.kv.lease !== leaseId || leader.value?.state !== 'leads') return;
    if (!holdings.isEnding(holding)) return;
    renewedAtMs ??= leader.value.renewedAtMs;
    if (renewedAtMs === leader.value.renewedAtMs) endLease(ledger, holding, view.facts.wallMs);
    // A renewal that was in time has met this step, and is perhaps not answered yet.
    else holdings.doubtLease({ name, holder, attempt, ttlMs });
  };
  return { names: [name], operation: 'expire', execute };
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
export function endLease(
  ledger: Ledger,
  holding: Pick<HeldLease, 'name' | 'holder' | 'attempt'>,
  nowMs: number,
): void {
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
