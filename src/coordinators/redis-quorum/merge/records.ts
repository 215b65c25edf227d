import type { HeldRecord, LeaseRecord, Revocation, SuspendedRecord } from '../../record.js';
import { isCertain, mayHold } from '../majority.js';
import { claimMetadata } from './memories.js';

/*
 * What stands under a name, out of what single nodes show. A record counts if a majority may hold it: silent nodes are
 * taken to agree, so that nothing is called free that somebody may hold.
 */

/** How many nodes make a majority, and how many said nothing. */
export interface Quota {
  readonly majority: number;
  readonly silentCount: number;
}

/** `undefined`: the name is free there. */
export type View = LeaseRecord | undefined;

type TimedRecord = Exclude<LeaseRecord, SuspendedRecord>;

/** A claim that is no lease yet: its client has not heard from a majority, or not said so. */
export function isClaim(record: LeaseRecord): record is HeldRecord {
  return record.state === 'held' && record.metadata === claimMetadata;
}

export function mergeViews(views: readonly View[], quota: Quota): LeaseRecord | undefined {
  const timed = views.map(timedOf);
  const current = mergeTimed(timed, quota);
  const suspensions = suspensionsOf(views);
  const [view] = views.filter((one) => one !== undefined);
  if (view === undefined || !mayHold({ count: suspensions.length, ...quota })) return current;
  const ending = current?.state === 'held' ? current : undefined;
  return {
    state: 'suspended',
    name: view.name,
    suspension: mostCommon(suspensions, (one) => JSON.stringify([one.atMs, one.by, one.reason])),
    ending,
  };
}

/** Whether what the silent nodes would show changes nothing. */
export function areViewsCertain(views: readonly View[], quota: Quota): boolean {
  const counts = [...groupsOf(views.map(timedOf)).values()].map(({ length }) => length);
  counts.push(suspensionsOf(views).length);
  return counts.every((count) => isCertain({ count, ...quota }));
}

function timedOf(view: View): TimedRecord | undefined {
  const timed = view?.state === 'suspended' ? view.ending : view;
  return timed === undefined || isClaim(timed) ? undefined : timed;
}

function suspensionsOf(views: readonly View[]): Revocation[] {
  return views.flatMap((view) => (view?.state === 'suspended' ? [view.suspension] : []));
}

/** By term: one lease, and what follows it. */
function groupsOf(records: readonly (TimedRecord | undefined)[]): Map<number, TimedRecord[]> {
  const groups = new Map<number, TimedRecord[]>();
  for (const record of records) {
    if (record !== undefined) groups.set(record.term, [...(groups.get(record.term) ?? []), record]);
  }
  return groups;
}

function mergeTimed(
  records: readonly (TimedRecord | undefined)[],
  quota: Quota,
): LeaseRecord | undefined {
  const [group] = [...groupsOf(records)]
    .filter(([, { length: count }]) => mayHold({ count, ...quota }))
    .sort(([oneTerm, one], [term, other]) => other.length - one.length || term - oneTerm)
    .map(([, each]) => each);
  return group && stageOf(group, quota);
}

const stages = ['held', 'lock-delay', 'reserved'] as const;

/** Of nodes that are at different stages of one term, the first stage that a majority may not have passed yet. */
function stageOf(group: readonly TimedRecord[], quota: Quota): LeaseRecord | undefined {
  let before = 0;
  for (const stage of stages) {
    const there = group
      .filter(({ state }) => state === stage)
      .sort((one, other) => other.remainingMs - one.remainingMs);
    const isThere = there.length > 0 && mayHold({ count: before + there.length, ...quota });
    if (isThere) return supported(there, quota.majority - before, quota);
    before += there.length;
  }
  return undefined;
}

/** What so many show at least: the longest lived come first. */
function supported(
  longestFirst: readonly TimedRecord[],
  count: number,
  quota: Quota,
): LeaseRecord | undefined {
  const at = Math.max(0, Math.min(count, longestFirst.length) - 1);
  const record = longestFirst[at];
  if (record?.state !== 'held') return record;
  const revocations = longestFirst.flatMap((one) =>
    one.state === 'held' && one.revocation !== undefined ? [one.revocation] : [],
  );
  const isRevoked = mayHold({ count: revocations.length, ...quota });
  const revocation = isRevoked ? mostCommon(revocations, revocationKey) : undefined;
  return { ...record, revocation };
}

function revocationKey({ atMs, by, reason, to }: Revocation): string {
  return JSON.stringify([atMs, by, reason, to]);
}

function mostCommon<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item {
  const counts = new Map<string, { count: number; item: Item }>();
  for (const item of items) {
    const known = counts.get(keyOf(item));
    counts.set(keyOf(item), { count: (known?.count ?? 0) + 1, item });
  }
  const [first] = [...counts].sort(
    ([oneKey, one], [key, other]) => other.count - one.count || (oneKey < key ? -1 : 1),
  );
  return first?.[1].item as Item;
}
