import type { Act, RevokeRequest } from '../acts.js';
import type { ActEntry, HistoryEntry } from '../history.js';
import type { LeaseRecord, SuspendedRecord } from '../record.js';
import type { StoredLease, StoredRevocation } from './record.js';
import { describeName, describeSuspension } from './standing.js';
import type { MemoryStore } from './store.js';

/*
 * What operators do to a name, and what is remembered of it. Every act that was in force leaves a line of history; one
 * that is repeated while it is leaves no second one, so that a call whose reply was lost can be made again.
 */

export function revokeOne(
  store: MemoryStore,
  name: string,
  request: RevokeRequest,
  nowMs: number,
): LeaseRecord | undefined {
  const lease = liveLease(store, name);
  if (lease !== undefined && !store.suspensions.has(name) && !isSame(lease.revocation, request)) {
    revoke(store, name, lease, request);
    noteAct(store, name, 'revoke', request);
  }
  return describeName(store, name, nowMs);
}

export function suspendOne(
  store: MemoryStore,
  name: string,
  act: Act,
  nowMs: number,
): SuspendedRecord {
  const first = store.suspensions.get(name);
  const isRepeated = first !== undefined && isLastAct(store, name, act, first);
  if (!isRepeated) noteAct(store, name, 'suspend', act);
  const { by, reason } = act;
  const suspension = first ?? { by, reason, atMs: store.runtime.now().wallMs };
  store.suspensions.set(name, suspension);
  const lease = liveLease(store, name);
  // A term that was revoked before keeps its successor.
  if (lease !== undefined && lease.revocation === undefined) revoke(store, name, lease, act);
  return describeSuspension(store, name, suspension, nowMs);
}

export function resumeOne(store: MemoryStore, name: string, act: Act): boolean {
  const wasSuspended = store.suspensions.delete(name);
  if (!wasSuspended) return false;
  noteAct(store, name, 'resume', act);
  store.vacated(name);
  return true;
}

/** The lines about a name; a term whose record somebody removed ends at the latest now, when that is noticed. */
export function historyOf(store: MemoryStore, name: string): HistoryEntry[] {
  store.histories.closeVanished(name, liveLease(store, name)?.term, store.runtime.now().wallMs);
  return store.histories.of(name);
}

function revoke(store: MemoryStore, name: string, lease: StoredLease, act: RevokeRequest): void {
  const { by, reason, to, reserveMs = 0 } = act;
  const atMs = store.runtime.now().wallMs;
  const revocation = { by, reason, atMs, reserveMs, ...(to === undefined ? {} : { to }) };
  store.records.set(name, { ...lease, revocation });
}

function liveLease(store: MemoryStore, name: string): StoredLease | undefined {
  const record = store.records.get(name);
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
function isLastAct(store: MemoryStore, name: string, act: Act, inForce: Act): boolean {
  const last = store.histories.lastAct(name) ?? inForce;
  return last.by === act.by && last.reason === act.reason;
}

function noteAct(
  store: MemoryStore,
  name: string,
  act: ActEntry['act'],
  { by, reason, to }: RevokeRequest,
): void {
  const atMs = store.runtime.now().wallMs;
  const successor = to === undefined ? {} : { to };
  store.histories.add(name, { kind: 'act', act, by, reason, atMs, ...successor });
}
