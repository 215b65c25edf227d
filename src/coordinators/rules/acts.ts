import type { Act, RevokeRequest } from '../acts.js';
import type { ActEntry, HistoryEntry } from '../history.js';
import type { LeaseRecord, SuspendedRecord } from '../record.js';
import type { Ledger } from './ledger.js';
import type { StoredLease, StoredRevocation } from './record.js';
import { describeName, describeSuspension } from './standing.js';

/*
 * What operators do to a name, and what is remembered of it. Every act that was in force leaves a line of history; one
 * that is repeated while it is leaves no second one, so that a call whose reply was lost can be made again.
 */

export function revokeOne(
  ledger: Ledger,
  name: string,
  request: RevokeRequest,
  nowMs: number,
): LeaseRecord | undefined {
  const lease = liveLease(ledger, name);
  const isMeant = lease !== undefined && (request.term ?? lease.term) === lease.term;
  if (isMeant && !ledger.suspensions.has(name) && !isSame(lease.revocation, request)) {
    revoke(ledger, name, lease, request);
    noteAct(ledger, name, 'revoke', request);
    ledger.altered(name);
  }
  return describeName(ledger, name, nowMs);
}

export function suspendOne(ledger: Ledger, name: string, act: Act, nowMs: number): SuspendedRecord {
  const first = ledger.suspensions.get(name);
  const isRepeated = first !== undefined && isLastAct(ledger, name, act, first);
  if (!isRepeated) noteAct(ledger, name, 'suspend', act);
  const { by, reason } = act;
  const suspension = first ?? { by, reason, atMs: ledger.wallMs() };
  ledger.suspensions.set(name, suspension);
  const lease = liveLease(ledger, name);
  // A term that was revoked before keeps its successor.
  const isEnding = lease !== undefined && lease.revocation === undefined;
  if (isEnding) revoke(ledger, name, lease, act);
  if (isEnding || first === undefined) ledger.altered(name);
  return describeSuspension(ledger, name, suspension, nowMs);
}

export function resumeOne(ledger: Ledger, name: string, act: Act): boolean {
  const wasSuspended = ledger.suspensions.delete(name);
  if (!wasSuspended) return false;
  noteAct(ledger, name, 'resume', act);
  ledger.vacated(name);
  return true;
}

/** The lines about a name; a term whose record somebody removed ends at the latest now, when that is noticed. */
export function historyOf(ledger: Ledger, name: string): HistoryEntry[] {
  ledger.histories.closeVanished(name, liveLease(ledger, name)?.term, ledger.wallMs());
  return ledger.histories.of(name);
}

function revoke(ledger: Ledger, name: string, lease: StoredLease, act: RevokeRequest): void {
  const { by, reason, to, reserveMs = 0 } = act;
  const atMs = ledger.wallMs();
  const revocation = { by, reason, atMs, reserveMs, ...(to === undefined ? {} : { to }) };
  ledger.records.set(name, { ...lease, revocation });
}

function liveLease(ledger: Ledger, name: string): StoredLease | undefined {
  const record = ledger.records.get(name);
  return record?.kind === 'lease' ? record : undefined;
}

function isSame(revocation: StoredRevocation | undefined, request: RevokeRequest): boolean {
  return (
    revocation !== undefined &&
    revocation.by === request.by &&
    revocation.reason === request.reason &&
    revocation.to === request.to &&
    revocation.reserveMs === (request.reserveMs ?? 0)
  );
}

/** The last line may be forgotten already; then what is in force tells. */
function isLastAct(ledger: Ledger, name: string, act: Act, inForce: Act): boolean {
  const last = ledger.histories.lastAct(name) ?? inForce;
  return last.by === act.by && last.reason === act.reason;
}

function noteAct(
  ledger: Ledger,
  name: string,
  act: ActEntry['act'],
  { by, reason, to }: RevokeRequest,
): void {
  const atMs = ledger.wallMs();
  const successor = to === undefined ? {} : { to };
  ledger.histories.add(name, { kind: 'act', act, by, reason, atMs, ...successor });
}
