import type { EtcdKeyValue } from '../../drivers/etcd/index.js';
import { RecordCorruptError } from '../../errors/index.js';
import { largestMetadataBytes, type StoredDocument } from '../contract.js';
import type { HistoryEntry } from '../history.js';
import { Holder } from '../holder.js';
import type { StoredCandidate } from '../rules/candidate.js';
import type { StoredLease, StoredRecord } from '../rules/record.js';
import type { NameSnapshot } from '../rules/snapshot.js';
import type { Own } from './own.js';
import {
  afterValue,
  candidateValue,
  documentValue,
  type HistoryValue,
  historyValue,
  type QueueValue,
  queueValue,
  suspensionValue,
  waiterValue,
} from './values.js';

/** Somebody in the queue of a name; without a value of ours it is a candidate of another program. */
export interface Queued {
  readonly kv: EtcdKeyValue;
  readonly value: QueueValue | undefined;
}

/** The keys of one name, as they were read. */
export interface NameView {
  readonly name: string;
  /** In the order of their creation. */
  readonly queue: readonly Queued[];
  readonly after: EtcdKeyValue | undefined;
  readonly suspended: EtcdKeyValue | undefined;
  readonly historyKey: EtcdKeyValue | undefined;
  readonly document: EtcdKeyValue | undefined;
  /** Those that were read: of all, or of one holder and its namesakes. */
  readonly candidateKeys: readonly EtcdKeyValue[];
  /** The first who wait, in the order in which they are called. */
  readonly first: readonly Holder[];
  /** Of who waits from here: the key of the one before each, by the digest of the holder. */
  readonly before: ReadonlyMap<string, string>;
  /** How many are called before the holder whose entry was looked at. */
  readonly ahead: number;
  readonly history: HistoryValue;
}

/** What the keys alone do not tell. */
export interface Facts {
  readonly wallMs: number;
  readonly offset: number;
  /** By store lease: when it was last extended, as far as somebody noted that. */
  readonly sessions: ReadonlyMap<string, number>;
  /** By store lease: the whole seconds that remain, and those it had; absent: it is gone, or was not asked for. */
  readonly lives: ReadonlyMap<string, { readonly remaining: number; readonly granted: number }>;
  /** For foreign leaders: nobody can pass for one. */
  readonly randomHex: (bytes: number) => string;
}

export interface NameKeys {
  readonly queue?: readonly EtcdKeyValue[];
  /** Of the queue, those who came first. */
  readonly front?: readonly EtcdKeyValue[];
  readonly after?: readonly EtcdKeyValue[];
  readonly suspended?: readonly EtcdKeyValue[];
  readonly history?: readonly EtcdKeyValue[];
  readonly document?: readonly EtcdKeyValue[];
  readonly candidates?: readonly EtcdKeyValue[];
  readonly first?: readonly EtcdKeyValue[];
}

export function viewOf(
  name: string,
  keys: NameKeys,
  own?: Own,
  before: NameView['before'] = new Map(),
): NameView {
  const [historyKey] = keys.history ?? [];
  const { queue = keys.front ?? [] } = keys;
  const isOwnRead = queue.some(({ key }) => key === own?.queued?.key);
  const all = own?.queued === undefined || isOwnRead ? queue : [...queue, own.queued];
  return {
    name,
    queue: [...all].sort(byCreation).map((kv) => ({ kv, value: queueValue(kv.value) })),
    after: keys.after?.[0],
    suspended: keys.suspended?.[0],
    historyKey,
    document: keys.document?.[0],
    candidateKeys: keys.candidates ?? own?.entries ?? [],
    first: (keys.first ?? []).flatMap(({ value }) => waiterValue(value) ?? []),
    before,
    ahead: own?.ahead ?? 0,
    history:
      historyKey === undefined
        ? { lines: [], leases: {} }
        : historyValue(historyKey.value, historyKey.modRevision),
  };
}

function byCreation(one: EtcdKeyValue, other: EtcdKeyValue): number {
  return one.createRevision - other.createRevision || (one.key < other.key ? -1 : 1);
}

/** Who leads by the rule of the recipe: who came first, unless that is one of ours and only waits. */
export function leaderOf(view: NameView): Queued | undefined {
  const own = view.queue.find(({ kv, value }) => value?.state === 'leads' && kv.lease !== noLease);
  if (own !== undefined) return own;
  const [first] = view.queue;
  return first !== undefined && first.value === undefined && first.kv.lease !== noLease
    ? first
    : undefined;
}

/** A candidate of another program leads. */
export function isLedByOthers(view: NameView | undefined): boolean {
  const leader = view && leaderOf(view);
  return leader !== undefined && leader.value === undefined;
}

export const noLease = '0';

/** A key without a store lease is of no candidate: it would lead for ever. */
function strayOf(view: NameView): Queued | undefined {
  return view.queue.find(({ kv }) => kv.lease === noLease);
}

/** Candidates of other programs; the leader is none of them. */
export function foreignWaitersOf(view: NameView): readonly Queued[] {
  const leader = leaderOf(view);
  return view.queue.filter((one) => one.value === undefined && one !== leader);
}

export function waitersOf(view: NameView): readonly (Queued & { readonly holder: Holder })[] {
  return view.queue.flatMap(({ kv, value }) =>
    value?.state === 'waits' ? [{ kv, value, holder: value.holder }] : [],
  );
}

/** The name as the rules see it. */
export function snapshotOf(view: NameView, facts: Facts): NameSnapshot {
  return {
    record: recordOf(view, facts),
    suspension: view.suspended && suspensionValue(view.suspended.value),
    candidates: view.candidateKeys.flatMap((kv) => candidateOf(kv, facts) ?? []),
    history: view.history.lines,
    document: view.document && documentOf(view.document),
  };
}

/** @throws {RecordCorruptError} if it is none: to answer that there is no document would have it written over. */
function documentOf({ key, value }: EtcdKeyValue): StoredDocument {
  const document = documentValue(value);
  if (document !== undefined) return document;
  throw new RecordCorruptError(
    `what stands in the place of a document (the key "${key}") is none. Somebody else wrote it; remove it there.`,
  );
}

/** What stands in the place of a suspension, and is none of ours: the name is granted to nobody. */
export function foreignSuspensionOf({ suspended }: NameView): EtcdKeyValue | undefined {
  const isForeign = suspended !== undefined && suspensionValue(suspended.value) === undefined;
  return isForeign ? suspended : undefined;
}

/** @throws {RecordCorruptError} if the name is suspended by something that is left alone. */
export function requireOwnSuspension(view: NameView | undefined, name: string): void {
  const foreign = view && foreignSuspensionOf(view);
  if (foreign === undefined) return;
  throw new RecordCorruptError(
    `what stands in the place of the suspension of "${name}" (the key "${foreign.key}") is none that this version knows. It was left alone, and the name is granted to nobody: resume it with what wrote it, or remove that key there.`,
  );
}

export function recordOf(view: NameView, facts: Facts): StoredRecord | undefined {
  const leader = leaderOf(view);
  if (leader !== undefined) return leaseOf(leader, facts);
  const foreign = strayOf(view)?.kv ?? foreignSuspensionOf(view);
  if (foreign !== undefined) return { kind: 'foreign', text: foreign.value };
  return view.after && followingOf(view.after, facts);
}

function leaseOf({ kv, value }: Queued, facts: Facts): StoredLease {
  if (value?.state !== 'leads') return foreignLease(kv, facts);
  const { holder, attempt, ttlMs, grantedAtMs, graceMs, metadata, revocation, offset } = value;
  // A revoked lease is extended no more, be it that others are on the same store lease.
  const notedAtMs = revocation === undefined ? facts.sessions.get(kv.lease) : undefined;
  const renewedAtMs = Math.max(value.renewedAtMs, notedAtMs ?? 0);
  const term = kv.createRevision + offset;
  const deadlineMs = facts.wallMs + remaining(ttlMs, renewedAtMs, facts.wallMs);
  const times = { ttlMs, deadlineMs, grantedAtMs, renewedAtMs };
  return { kind: 'lease', holder, attempt, term, ...times, metadata, graceMs, revocation };
}

/** How long after the time at which it should be gone a record that is still there is looked at again. */
const overdueMs = 250;

/** By the clocks of two processes, so for people and for guessing when to look again. Nothing ends by it. */
function remaining(ttlMs: number, renewedAtMs: number, wallMs: number): number {
  const passedMs = Math.max(0, wallMs - renewedAtMs);
  return passedMs < ttlMs ? ttlMs - passedMs : Math.min(ttlMs, overdueMs);
}

/** Somebody leads with another program. */
function foreignLease(kv: EtcdKeyValue, facts: Facts): StoredLease {
  const life = facts.lives.get(kv.lease) ?? { remaining: 0, granted: 1 };
  const hex = BigInt(kv.lease).toString(16);
  const renewedAtMs = facts.wallMs - (life.granted - life.remaining) * 1000;
  const proposal = JSON.stringify(kv.value);
  return {
    kind: 'lease',
    holder: new Holder(`etcd-${hex}`, facts.randomHex(16)),
    attempt: hex.padStart(32, '0'),
    term: kv.createRevision + facts.offset,
    ttlMs: life.granted * 1000,
    deadlineMs: facts.wallMs + Math.max(life.remaining * 1000, overdueMs),
    grantedAtMs: renewedAtMs,
    renewedAtMs,
    metadata: Buffer.byteLength(proposal) <= largestMetadataBytes ? proposal : undefined,
    graceMs: 0,
    revocation: undefined,
  };
}

/** Whether only the store can tell what is left of it. */
export function needsLife(kv: EtcdKeyValue): boolean {
  const value = afterValue(kv.value, kv.modRevision);
  return value !== undefined && (value.startedAtMs === undefined || value.delayMs > 0);
}

function followingOf(kv: EtcdKeyValue, facts: Facts): StoredRecord {
  const value = afterValue(kv.value, kv.modRevision);
  if (value === undefined) return { kind: 'foreign', text: kv.value };
  const { term, delayMs, reserveMs, to, revocation, startedAtMs } = value;
  const wholeMs = delayMs + reserveMs;
  // The server counts whole seconds: one more, since a lock-delay may be too long and never too short.
  const lifeMs = ((facts.lives.get(kv.lease)?.remaining ?? 0) + 1) * 1000;
  const leftMs =
    startedAtMs === undefined
      ? Math.min(wholeMs, lifeMs)
      : remaining(wholeMs, startedAtMs, facts.wallMs);
  const isDelayed = delayMs > 0 && (to === undefined || lifeMs > reserveMs);
  if (isDelayed) {
    const deadlineMs = facts.wallMs + Math.max(1, leftMs - reserveMs);
    return { kind: 'lock-delay', term, deadlineMs, revocation };
  }
  return { kind: 'reservation', to: to ?? '', term, deadlineMs: facts.wallMs + leftMs };
}

export function candidateOf(kv: EtcdKeyValue, facts: Facts): StoredCandidate | undefined {
  const value = candidateValue(kv.value);
  if (value === undefined) return undefined;
  const { holder, standing, preference, ttlMs, sinceMs, since, metadata } = value;
  const refreshedAtMs = Math.max(sinceMs, facts.sessions.get(kv.lease) ?? 0);
  return {
    holder,
    id: holder.id,
    digest: holder.digest,
    standing,
    preference,
    since,
    sinceMs,
    deadlineMs: facts.wallMs + remaining(ttlMs, refreshedAtMs, facts.wallMs),
    refresh: kv.modRevision,
    metadata,
  };
}

/** Lines of terms that have not ended although nobody holds the name in them. */
export function overdueTerms(view: NameView): readonly (HistoryEntry & { kind: 'term' })[] {
  const leader = leaderOf(view);
  const current =
    leader?.value?.state === 'leads' ? leader.kv.createRevision + leader.value.offset : undefined;
  return view.history.lines.flatMap((line) =>
    line.kind === 'term' && line.endedAtMs === undefined && line.term !== current ? [line] : [],
  );
}
