import type { HistoryEntry } from '../history.js';
import { afterExpiry, type StoredLease, type StoredRecord } from '../rules/record.js';
import type { NameSnapshot } from '../rules/snapshot.js';
import type { LoadedName } from './loading.js';
import type { LeaseState } from './state.js';

/** What the rules see of a name, and whether something has to be written although no rule changed it. */
export interface SnapshotOfName {
  readonly snapshot: NameSnapshot;
  /**
   * A lease has ended without anybody saying so, and something follows from that: its end has to be written down, since
   * the time of what follows runs from there.
   */
  readonly isUnsettled: boolean;
}

/** @param nowMs the leader's clock, never ahead of it. */
export function snapshotOf(loaded: LoadedName, nowMs: number): SnapshotOfName {
  const { state, foreign } = loaded;
  const { read, queue } = loaded.candidates;
  const candidates = read.map(({ entry }) => entry).filter(({ deadlineMs }) => deadlineMs > nowMs);
  const others = queue.flatMap(({ candidate, ranked }) => (candidate === undefined ? ranked : []));
  if (foreign !== undefined) {
    const record = { kind: 'foreign', text: foreign } as const;
    return { snapshot: { record, candidates, others }, isUnsettled: false };
  }
  const { suspension, history = [] } = state;
  const rest = { suspension, candidates, others, history };
  const { lease } = state;
  if (lease === undefined) {
    const record = state.after && current(state.after, nowMs);
    return { snapshot: { ...rest, record }, isUnsettled: false };
  }
  const { leaseNode, isOverdue = false } = loaded;
  if (leaseNode !== undefined && !isOverdue)
    return { snapshot: { ...rest, record: leaseOf(lease, leaseNode, nowMs) }, isUnsettled: false };
  // Somebody removed the node of a session that lives: the record is gone, as if it had never been.
  if (loaded.isSessionAlive && !isOverdue) return { snapshot: rest, isUnsettled: false };
  const record = afterExpiry({ ...leaseOf(lease, expiredNode, nowMs), deadlineMs: nowMs });
  const endedAtMs =
    leaseNode === undefined
      ? nowMs
      : Math.min(nowMs, leaseNode.stat.modifiedAtMs + leaseNode.ttlMs);
  const ended = endedHistory(history, lease, endedAtMs);
  const isUnsettled = record !== undefined || ended !== history || isOverdue;
  return { snapshot: { ...rest, record, history: ended }, isUnsettled };
}

/** What stands there now of something that ends by the clock. */
function current(
  record: Exclude<StoredRecord, { kind: 'foreign' }>,
  nowMs: number,
): StoredRecord | undefined {
  let now: StoredRecord | undefined = record;
  while (now !== undefined && now.kind !== 'foreign' && now.deadlineMs <= nowMs) {
    now = afterExpiry(now);
  }
  return now;
}

const expiredNode = { ttlMs: 1, metadata: undefined, stat: undefined };

export function leaseOf(
  { holder, attempt, term, graceMs, grantedAtMs, revocation }: LeaseState,
  node: Pick<NonNullable<LoadedName['leaseNode']>, 'ttlMs' | 'metadata'> & {
    readonly stat: { readonly modifiedAtMs: number } | undefined;
  },
  nowMs: number,
): StoredLease {
  const { ttlMs, metadata } = node;
  const renewedAtMs = node.stat?.modifiedAtMs ?? nowMs;
  return {
    kind: 'lease',
    holder,
    attempt,
    term,
    ttlMs,
    // Its node is there, so it is alive: what the clocks say only tells how much longer, at least.
    deadlineMs: Math.max(renewedAtMs + ttlMs, nowMs + 1),
    grantedAtMs,
    renewedAtMs,
    metadata,
    graceMs,
    revocation,
  };
}

/** The lines with the end of a term that expired; the same list if it has none, or it has ended. */
export function endedHistory(
  history: readonly HistoryEntry[],
  { term, revocation }: Pick<LeaseState, 'term' | 'revocation'>,
  endedAtMs: number,
): readonly HistoryEntry[] {
  const isOpen = (entry: HistoryEntry) =>
    entry.kind === 'term' && entry.term === term && entry.endedAtMs === undefined;
  if (!history.some(isOpen)) return history;
  const endReason = revocation === undefined ? 'expired' : 'revoked';
  return history.map((entry) =>
    entry.kind === 'term' && isOpen(entry) ? { ...entry, endedAtMs, endReason } : entry,
  );
}
