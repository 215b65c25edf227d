import type {
  OnceBeginRequest,
  OnceBeginResult,
  OnceEnd,
  OnceEndRequest,
  OnceSettleRequest,
} from '../contract.js';
import {
  type OnceAttemptRef,
  type OnceRecord,
  type OnceSettlement,
  settlementCount,
} from '../records.js';

/*
 * What may begin, end and be settled, for the stores that decide it in this process while nobody else can write: read,
 * decide, write is one step there. Nothing here waits, or reads a clock.
 */

/** What is kept of a key. That a deadline has passed changes nothing in it. */
export interface StoredKey extends Omit<OnceRecord, 'key' | 'remainingMs'> {
  /** The nonce of the attempt; of the settlement, once there was one. */
  readonly owner: string;
}

/** What the store found, and when. */
export interface Found {
  readonly stored: StoredKey | undefined;
  /** Of the deadline, on the clock that judges it; 0 or less once it has passed. */
  readonly remainingMs: number;
  /** Unix time. */
  readonly nowMs: number;
}

interface Decision<Outcome extends string> {
  readonly outcome: Outcome;
  /** As it stands afterwards. */
  readonly stored: StoredKey;
  /** Whether that is to be written. */
  readonly isChanged: boolean;
}

/** After `begun` and `isChanged`, the deadline is `timeoutMs` from now. */
export function decideBegin(
  found: Found,
  request: OnceBeginRequest,
): Decision<OnceBeginResult['outcome']> {
  const { nonce, repeat } = request;
  const stored = standing(found);
  if (stored === undefined) return begun(undefined, [], request, found.nowMs);
  const answer = (outcome: OnceBeginResult['outcome']) => ({ outcome, stored, isChanged: false });
  if (stored.owner === nonce) return answer(stored.state === 'started' ? 'begun' : 'spent');
  switch (stateOf(stored, found)) {
    case 'done':
      return answer('done');
    case 'started':
      return answer('under-way');
    case 'free':
      return begun(stored, stored.settlements, request, found.nowMs);
    case 'unknown': {
      if (repeat === undefined || !isAttempt(stored, repeat)) return answer('unknown');
      const settlements = settledBy(stored, 'repeated', repeat, found.nowMs);
      return begun(stored, settlements, request, found.nowMs);
    }
  }
}

function begun(
  before: StoredKey | undefined,
  settlements: readonly OnceSettlement[],
  { nonce, startedBy, timeoutMs, keepUnknownMs }: OnceBeginRequest,
  nowMs: number,
): Decision<'begun'> {
  const deadlineAtMs = nowMs + timeoutMs;
  const stored: StoredKey = {
    ...{ state: 'started', attempt: (before?.attempt ?? 0) + 1, owner: nonce, startedBy },
    ...{ startedAtMs: nowMs, deadlineAtMs, settlements },
    ...(keepUnknownMs !== undefined && { expiresAtMs: deadlineAtMs + keepUnknownMs }),
  };
  return { outcome: 'begun', stored, isChanged: true };
}

export function decideEnd(
  found: Found,
  { nonce, end }: OnceEndRequest,
): Decision<'recorded'> | { readonly outcome: 'superseded'; readonly stored?: StoredKey } {
  const stored = standing(found);
  if (stored?.owner !== nonce) return { outcome: 'superseded', ...(stored && { stored }) };
  const isOpen = stored.state === 'started' || stored.state === 'unknown';
  // A late repetition of "unknown" must not take back what was said after it.
  if (!isOpen || (end.kind === 'unknown' && stored.state === 'unknown'))
    return { outcome: 'recorded', stored, isChanged: false };
  return { outcome: 'recorded', stored: ended(stored, end, found.nowMs), isChanged: true };
}

export function decideSettle(
  found: Found,
  { nonce, of, end, by, reason }: OnceSettleRequest,
): Decision<'settled'> | { readonly outcome: 'refused'; readonly stored?: StoredKey } {
  const stored = standing(found);
  if (stored === undefined) return { outcome: 'refused' };
  const isOurs = stored.owner === nonce;
  if (isOurs) return { outcome: 'settled', stored, isChanged: false };
  const isMeant = of === undefined || isAttempt(stored, of);
  if (stateOf(stored, found) !== 'unknown' || !isMeant) return { outcome: 'refused', stored };
  const settlements = settledBy(stored, end.kind, { by, reason }, found.nowMs);
  const detail = end.kind === 'not-applied' ? reason : undefined;
  const after = ended(stored, { ...end, detail: detail as string }, found.nowMs);
  return { outcome: 'settled', stored: { ...after, owner: nonce, settlements }, isChanged: true };
}

function ended(stored: StoredKey, end: OnceEnd, nowMs: number): StoredKey {
  const { attempt, owner, startedBy, startedAtMs, deadlineAtMs, settlements } = stored;
  const state = end.kind === 'not-applied' ? 'free' : end.kind;
  const result = end.kind === 'done' ? end.result : undefined;
  return {
    ...{ state, attempt, owner, startedBy, startedAtMs, deadlineAtMs, settlements },
    endedAtMs: nowMs,
    ...(end.keepMs !== undefined && { expiresAtMs: nowMs + end.keepMs }),
    ...(result !== undefined && { result }),
    ...(end.detail !== undefined && { detail: end.detail }),
  };
}

/** The key as everybody sees it; `undefined` if it is as good as absent. */
export function recordOf(key: string, found: Found): OnceRecord | undefined {
  const stored = standing(found);
  if (stored === undefined) return undefined;
  const { owner: _, ...shown } = stored;
  const state = stateOf(stored, found);
  const isOverdue = state !== stored.state;
  return {
    ...shown,
    key,
    state,
    remainingMs: state === 'started' ? found.remainingMs : 0,
    ...(isOverdue && { endedAtMs: stored.deadlineAtMs, detail: overdueDetail }),
  };
}

/** The detail of an attempt of which nothing was heard. */
export const overdueDetail = 'its deadline passed without an end';

function standing({ stored, remainingMs, nowMs }: Found): StoredKey | undefined {
  if (stored?.expiresAtMs === undefined) return stored;
  // Deadlines may be on another clock, one that nobody can set forward.
  const isUnderWay = stored.state === 'started' && remainingMs > 0;
  return isUnderWay || nowMs < stored.expiresAtMs ? stored : undefined;
}

function stateOf({ state }: StoredKey, { remainingMs }: Found): StoredKey['state'] {
  return state === 'started' && remainingMs <= 0 ? 'unknown' : state;
}

function isAttempt(stored: StoredKey, { attempt, startedAtMs }: OnceAttemptRef): boolean {
  return stored.attempt === attempt && stored.startedAtMs === startedAtMs;
}

function settledBy(
  { attempt, settlements }: StoredKey,
  outcome: OnceSettlement['outcome'],
  { by, reason }: Pick<OnceSettlement, 'by' | 'reason'>,
  atMs: number,
): OnceSettlement[] {
  return [...settlements, { attempt, outcome, by, reason, atMs }].slice(-settlementCount);
}
