import type { AcquireRequest, AcquireResult } from '../../contract.js';
import type { HeldRecord, LeaseRecord } from '../../record.js';
import { isClaim, mergeViews, type Quota } from '../merge/records.js';

/*
 * What the votes on one name mean. A claim at a node keeps others from the name there for a moment; a majority of them may be
 * made a lease.
 */

export type ClaimVerdict =
  /** A majority gave it. The term is the highest of theirs. */
  | { readonly kind: 'won'; readonly term: number }
  | { readonly kind: 'held'; readonly current: LeaseRecord }
  | { readonly kind: 'corrupt'; readonly detail: string }
  /**
   * Others have claims, and nobody a majority. `isFirst`: they give way to us, and not we to them. `isForeseen`: somebody has a
   * majority, and has not said so yet; `current` is the lease that it may make of it.
   */
  | ({ readonly kind: 'split'; readonly isFirst: boolean } & Evidence)
  /** Too few have answered. */
  | { readonly kind: 'open' };

/** What stood in the way, as far as anybody can tell who does not ask again. */
export interface Evidence {
  readonly current: LeaseRecord | undefined;
  readonly isForeseen: boolean;
}

/** `results`: what each node that answered said. */
export function judgeClaim(
  request: Pick<AcquireRequest, 'attempt' | 'holder'>,
  results: readonly AcquireResult[],
  quota: Quota,
): ClaimVerdict {
  const terms = results.flatMap((result) => (result.outcome === 'granted' ? [result.term] : []));
  if (terms.length >= quota.majority)
    return { kind: 'won', term: chooseTerm(terms, quota.majority) };
  if (results.length < quota.majority) return { kind: 'open' };
  const shown = results.map((result) => (result.outcome === 'held' ? result.current : undefined));
  const current = mergeViews(withClaimsOfLeases(shown), quota);
  if (current !== undefined) return { kind: 'held', current };
  const corrupt = results.filter((result) => result.outcome === 'corrupt');
  const usableCount = results.length - corrupt.length + quota.silentCount;
  if (corrupt.length > 0 && usableCount < quota.majority)
    return { kind: 'corrupt', detail: corrupt[0]?.detail ?? '' };
  const blockers = shown.filter((record) => record !== undefined);
  return {
    kind: 'split',
    isFirst: isFirst(request.attempt, terms.length, blockers),
    ...bestEvidence(blockers, quota.majority),
  };
}

/**
 * The term of a lease that a majority has claims for, each with the term that its node took for it.
 *
 * The highest: then no node of the majority has granted a higher one. If a majority has agreed on one already, this attempt
 * was answered before, and that one is its term for good.
 */
export function chooseTerm(terms: readonly number[], majority: number): number {
  const agreed = terms.find((term) => terms.filter((other) => other === term).length >= majority);
  return agreed ?? Math.max(...terms);
}

/** A claim of an attempt that is a lease at another node already, is one here as well: the word is on its way. */
function withClaimsOfLeases(shown: readonly (LeaseRecord | undefined)[]) {
  const leases = shown.map(heldOf).filter((one) => one !== undefined && !isClaim(one));
  return shown.map((record) => {
    const held = heldOf(record);
    if (record?.state !== 'held' || held === undefined || !isClaim(held)) return record;
    return leases.find((lease) => lease !== undefined && isSameAttempt(lease, held)) ?? record;
  });
}

function heldOf(record: LeaseRecord | undefined): HeldRecord | undefined {
  if (record?.state === 'suspended') return record.ending;
  return record?.state === 'held' ? record : undefined;
}

function isSameAttempt(one: HeldRecord, other: HeldRecord): boolean {
  return one.leaseId === other.leaseId && one.holder.equals(other.holder);
}

/** Who has most claims comes first, among equals the smallest attempt: all who look agree on it. */
function isFirst(attempt: string, ownCount: number, blockers: readonly LeaseRecord[]): boolean {
  if (ownCount === 0) return false;
  const counts = new Map<string, number>();
  for (const record of blockers) {
    if (isClaim(record)) counts.set(record.leaseId, (counts.get(record.leaseId) ?? 0) + 1);
  }
  return [...counts].every(
    ([other, count]) => ownCount > count || (ownCount === count && attempt < other),
  );
}

/** What to show who asks at the end: a lease rather than a claim; of claims those of most nodes, as the lease they may become. */
function bestEvidence(blockers: readonly LeaseRecord[], majority: number): Evidence {
  const lease = blockers.find((record) => !isClaim(record));
  if (lease !== undefined) return { current: lease, isForeseen: false };
  const byAttempt = new Map<string, HeldRecord[]>();
  for (const claim of blockers.filter(isClaim))
    byAttempt.set(claim.leaseId, [...(byAttempt.get(claim.leaseId) ?? []), claim]);
  const [most = []] = [...byAttempt.values()].sort((one, other) => other.length - one.length);
  const [first] = most;
  if (first === undefined) return { current: undefined, isForeseen: false };
  const term = chooseTerm(
    most.map((claim) => claim.term),
    majority,
  );
  const current = { ...first, term, metadata: undefined };
  return { current, isForeseen: most.length >= majority };
}
