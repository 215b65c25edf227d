import { RecordCorruptError, StoreRefusedError } from '../../errors/index.js';
import type {
  AcquireRequest,
  AcquireResult,
  EndResult,
  HandoffRequest,
  LeaseRecord,
  NotYours,
  ReleaseRequest,
  RenewRequest,
  RenewResult,
  StoredDocument,
  WriteDocumentResult,
} from '../contract.js';
import { highestTerm, nextTerm } from '../term.js';
import { describeRecord, type StoredLease } from './record.js';
import type { MemoryStore } from './store.js';

/*
 * What the store does with a request, in one synchronous step: nothing else runs between compare and act. `nowMs` is
 * the store's elapsed time at execution; what had expired by then is already gone.
 */

/**
 * Grants what is free or reserved for its holder's id. The term is taken here and nowhere else: one for all that this
 * call grants, so that many names do not put terms ahead of the clock.
 */
export function acquireAll(
  store: MemoryStore,
  requests: readonly AcquireRequest[],
  nowMs: number,
): AcquireResult[] {
  const { wallMs } = store.runtime.now();
  const obstacles = requests.map((request) => obstacleTo(store, request, nowMs));
  const free = requests.filter((_, index) => obstacles[index] === undefined);
  if (nextTerm(store.lastTerm, wallMs, highestAbove(requests)) > highestTerm) {
    throw new StoreRefusedError(
      'TERMS_EXHAUSTED',
      `no term is left after ${store.lastTerm}: an absurd "above" or clock took them. Use a new store.`,
    );
  }
  const term = nextTerm(store.lastTerm, wallMs, highestAbove(free));
  if (free.length > 0) store.lastTerm = term;
  for (const { name, holder, attempt, ttlMs, metadata } of free) {
    const deadlineMs = nowMs + ttlMs;
    const grant = { holder, attempt, term, ttlMs, deadlineMs, grantedAtMs: wallMs, metadata };
    store.records.set(name, { kind: 'lease', ...grant });
  }
  return obstacles.map((obstacle) => obstacle ?? { outcome: 'granted', term });
}

function highestAbove(requests: readonly AcquireRequest[]): number {
  return requests.reduce((highest, { above }) => Math.max(highest, above ?? 0), 0);
}

/** What the answer is instead of a new grant; `undefined` if the name may be granted. */
function obstacleTo(
  store: MemoryStore,
  { name, holder, attempt }: AcquireRequest,
  nowMs: number,
): AcquireResult | undefined {
  const record = store.records.get(name);
  if (record === undefined) return undefined;
  if (record.kind === 'foreign')
    return { outcome: 'corrupt', detail: `the text under "${name}" is no record of a lease` };
  if (record.kind === 'reservation' && record.to === holder.id) return undefined;
  const isSameAttempt =
    record.kind === 'lease' && record.holder.equals(holder) && record.attempt === attempt;
  if (isSameAttempt) return { outcome: 'granted', term: record.term };
  return { outcome: 'held', current: describeRecord(name, record, nowMs) };
}

export function renewOne(store: MemoryStore, request: RenewRequest, nowMs: number): RenewResult {
  const lease = ownLease(store, request);
  if ('outcome' in lease) return lease;
  store.records.set(request.name, {
    ...lease,
    ttlMs: request.ttlMs,
    deadlineMs: nowMs + request.ttlMs,
    metadata: request.metadata ?? lease.metadata,
  });
  return { outcome: 'renewed' };
}

export function releaseOne(store: MemoryStore, request: ReleaseRequest): EndResult {
  const lease = ownLease(store, request);
  if ('outcome' in lease) return lease;
  store.records.delete(request.name);
  return { outcome: 'ended' };
}

export function handOffOne(store: MemoryStore, request: HandoffRequest, nowMs: number): EndResult {
  const lease = ownLease(store, request);
  if ('outcome' in lease) return lease;
  store.records.set(request.name, {
    kind: 'reservation',
    to: request.to,
    term: lease.term,
    deadlineMs: nowMs + request.reserveMs,
  });
  return { outcome: 'ended' };
}

/** The caller's lease, compared by whole holder and by term (or attempt); or why it is not the caller's. */
function ownLease(
  store: MemoryStore,
  request: ReleaseRequest | RenewRequest,
): StoredLease | NotYours {
  const record = store.records.get(request.name);
  if (record === undefined) return { outcome: 'not-yours', reason: 'vanished' };
  const isOwn =
    record.kind === 'lease' &&
    record.holder.equals(request.holder) &&
    ('attempt' in request ? record.attempt === request.attempt : record.term === request.term);
  return isOwn ? record : { outcome: 'not-yours', reason: 'superseded' };
}

/** @throws {RecordCorruptError} if what is stored is not ours: answering "free" would be a lie. */
export function readOne(store: MemoryStore, name: string, nowMs: number): LeaseRecord | undefined {
  const record = store.records.get(name);
  if (record?.kind === 'foreign') {
    throw new RecordCorruptError(
      `the text under "${name}" is no record of a lease. Somebody else wrote it; remove it there.`,
    );
  }
  return record && describeRecord(name, record, nowMs);
}

export function listGroup(store: MemoryStore, group: string, nowMs: number): LeaseRecord[] {
  return store.records.namesIn(group).flatMap((name) => {
    const record = store.records.get(name);
    return record === undefined || record.kind === 'foreign'
      ? []
      : [describeRecord(name, record, nowMs)];
  });
}

export function writeDocument(
  store: MemoryStore,
  name: string,
  text: string,
  expectedVersion: number,
): WriteDocumentResult {
  const current: StoredDocument | undefined = store.documents.get(name);
  if ((current?.version ?? 0) !== expectedVersion) return { outcome: 'conflict', current };
  const version = expectedVersion + 1;
  store.documents.set(name, { version, text });
  return { outcome: 'written', version };
}
