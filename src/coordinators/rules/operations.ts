import { StoreRefusedError } from '../../errors/index.js';
import type { EnrollRequest, EnrollResult } from '../candidates.js';
import type {
  AcquireRequest,
  AcquireResult,
  EndResult,
  HandoffRequest,
  NotYours,
  ReleaseRequest,
  RenewRequest,
  RenewResult,
  StoredDocument,
  WriteDocumentResult,
} from '../contract.js';
import { highestTerm, nextTerm } from '../term.js';
import type { Ledger } from './ledger.js';
import { reservationAfter, type StoredLease, type StoredRecord } from './record.js';
import { describeName, sayForeign } from './standing.js';

/*
 * What a store does with a request, in one synchronous step: nothing else runs between compare and act. `nowMs` is the
 * store's clock at execution; what had expired by then does not show any more.
 */

/**
 * Grants what is free or reserved for its holder's id. The term is taken here and nowhere else: one for all that this
 * call grants, so that many names do not put terms ahead of the clock.
 */
export function acquireAll(
  ledger: Ledger,
  requests: readonly AcquireRequest[],
  nowMs: number,
): AcquireResult[] {
  const obstacles = requests.map((request) => obstacleTo(ledger, request, nowMs));
  const free = requests.filter((_, index) => obstacles[index] === undefined);
  const wallMs = ledger.wallMs();
  if (nextTerm(ledger.lastTerm, wallMs, highestAbove(requests)) > highestTerm) {
    throw new StoreRefusedError(
      'TERMS_EXHAUSTED',
      `no term is left after ${ledger.lastTerm}: an absurd "above" or clock took them. Use a new store.`,
    );
  }
  const term = nextTerm(ledger.lastTerm, wallMs, highestAbove(free));
  if (free.length > 0) ledger.lastTerm = term;
  for (const request of free) grant(ledger, request, term, nowMs);
  return obstacles.map((obstacle) => obstacle ?? { outcome: 'granted', term });
}

export function grant(ledger: Ledger, request: AcquireRequest, term: number, nowMs: number): void {
  const { name, holder, attempt, ttlMs, metadata, graceMs = 0, keepHistory = false } = request;
  const grantedAtMs = ledger.wallMs();
  ledger.records.set(name, {
    kind: 'lease',
    holder,
    attempt,
    term,
    ttlMs,
    deadlineMs: nowMs + ttlMs,
    grantedAtMs,
    renewedAtMs: grantedAtMs,
    metadata,
    graceMs,
    revocation: undefined,
  });
  ledger.histories.closeVanished(name, term, grantedAtMs);
  if (!keepHistory) return;
  const lasting = { endedAtMs: undefined, endReason: undefined };
  ledger.histories.add(name, { kind: 'term', term, holderId: holder.id, grantedAtMs, ...lasting });
  ledger.altered(name);
}

function highestAbove(requests: readonly AcquireRequest[]): number {
  return requests.reduce((highest, { above }) => Math.max(highest, above ?? 0), 0);
}

/** What the answer is instead of a new grant; `undefined` if the name may be granted. */
export function obstacleTo(
  ledger: Ledger,
  request: AcquireRequest,
  nowMs: number,
): AcquireResult | undefined {
  const { name, holder } = request;
  const record = ledger.records.get(name);
  if (record?.kind === 'foreign') return { outcome: 'corrupt', detail: sayForeign(ledger, name) };
  const current = describeName(ledger, name, nowMs);
  if (current === undefined) return undefined;
  if (current.state === 'reserved' && current.to === holder.id) return undefined;
  if (record !== undefined && isGrantOf(request, record)) {
    return { outcome: 'granted', term: record.term };
  }
  return { outcome: 'held', current };
}

/** Whether the request was executed before. A term that an operator has ended since is not given out again. */
function isGrantOf(request: AcquireRequest, record: StoredRecord): record is StoredLease {
  if (record.kind !== 'lease' || record.revocation !== undefined) return false;
  return record.holder.equals(request.holder) && record.attempt === request.attempt;
}

export function renewOne(ledger: Ledger, request: RenewRequest, nowMs: number): RenewResult {
  const lease = ownUnrevokedLease(ledger, request);
  if ('outcome' in lease) return lease;
  ledger.records.set(request.name, {
    ...lease,
    ttlMs: request.ttlMs,
    deadlineMs: nowMs + request.ttlMs,
    renewedAtMs: ledger.wallMs(),
    metadata: request.metadata ?? lease.metadata,
  });
  return { outcome: 'renewed' };
}

export function releaseOne(ledger: Ledger, request: ReleaseRequest, nowMs: number): EndResult {
  const lease = ownLease(ledger, request);
  if ('outcome' in lease) return lease;
  const { revocation } = lease;
  const endReason = revocation === undefined ? (request.reason ?? 'released') : 'revoked';
  return end(ledger, request.name, lease, endReason, reservationAfter(lease, nowMs));
}

export function handOffOne(ledger: Ledger, request: HandoffRequest, nowMs: number): EndResult {
  const lease = ownUnrevokedLease(ledger, request);
  if ('outcome' in lease) return lease;
  return end(ledger, request.name, lease, 'handed-off', {
    kind: 'reservation',
    to: request.to,
    term: lease.term,
    deadlineMs: nowMs + request.reserveMs,
  });
}

function end(
  ledger: Ledger,
  name: string,
  { term }: StoredLease,
  endReason: string,
  after: StoredRecord | undefined,
): EndResult {
  if (after === undefined) ledger.records.delete(name);
  else ledger.records.set(name, after);
  ledger.histories.close(name, term, endReason, ledger.wallMs());
  ledger.vacated(name);
  return { outcome: 'ended' };
}

/** The caller's lease, compared by whole holder and by term (or attempt); or why it is not the caller's. */
function ownLease(ledger: Ledger, request: ReleaseRequest | RenewRequest): StoredLease | NotYours {
  const record = ledger.records.get(request.name);
  // A lease in its lock-delay has expired: only the record is still there.
  if (record === undefined || record.kind === 'lock-delay')
    return { outcome: 'not-yours', reason: 'vanished' };
  const isOwn =
    record.kind === 'lease' &&
    record.holder.equals(request.holder) &&
    ('attempt' in request ? record.attempt === request.attempt : record.term === request.term);
  return isOwn ? record : { outcome: 'not-yours', reason: 'superseded' };
}

function ownUnrevokedLease(
  ledger: Ledger,
  request: RenewRequest | HandoffRequest,
): StoredLease | NotYours {
  const lease = ownLease(ledger, request);
  const isRevoked = 'revocation' in lease && lease.revocation !== undefined;
  return isRevoked ? { outcome: 'not-yours', reason: 'revoked' } : lease;
}

export function writeDocument(
  ledger: Ledger,
  name: string,
  text: string,
  expectedVersion: number,
): WriteDocumentResult {
  const current: StoredDocument | undefined = ledger.documents.get(name);
  if ((current?.version ?? 0) !== expectedVersion) return { outcome: 'conflict', current };
  const version = expectedVersion + 1;
  ledger.documents.set(name, { version, text });
  return { outcome: 'written', version };
}

export function enrollOne(ledger: Ledger, request: EnrollRequest, nowMs: number): EnrollResult {
  const { name, holder } = request;
  const duplicate = ledger.candidates.enroll(request, nowMs, ledger.wallMs());
  const position = ledger.candidates.placeOf(name, holder);
  return { position, current: describeName(ledger, name, nowMs), duplicate };
}
