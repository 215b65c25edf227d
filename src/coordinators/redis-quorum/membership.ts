import { createHash } from 'node:crypto';
import { majorityOf, type Votes } from './majority.js';

/** What a node says of itself; each is `null` if it is not there. */
export interface NodeView {
  readonly marker: string | null;
  readonly identity: string | null;
  /** Whether it granted leases of this namespace as a single server, and is no member. */
  readonly isUsedAlone: boolean;
}

/** By which numbers the members of a quorum count: all clients have to agree on them. */
export interface Terms {
  readonly nodeCount: number;
  readonly largestTtlMs: number;
}

/*
 * The text of a marker: 1|<number of nodes>|<largest ttl in ms>|<generation>. The generation follows from the random ids of
 * all nodes, so whoever sets up the same quorum at the same time writes the same.
 */

const markerPattern = /^1\|(\d+)\|(\d+)\|([0-9a-f]{16})$/;

export function markerOf(
  { nodeCount, largestTtlMs }: Terms,
  identities: readonly string[],
): string {
  const all = [...identities].sort().join('|');
  const generation = createHash('sha256').update(all).digest('hex').slice(0, 16);
  return `1|${nodeCount}|${largestTtlMs}|${generation}`;
}

export function parseMarker(text: string): Terms | undefined {
  const [, nodeCount, largestTtlMs] = markerPattern.exec(text) ?? [];
  if (nodeCount === undefined) return undefined;
  return { nodeCount: Number(nodeCount), largestTtlMs: Number(largestTtlMs) };
}

/** What the nodes together are. */
export type Membership =
  /** A majority remembers. `blank`: nodes without a memory; `strangers`: members of another quorum. */
  | {
      readonly kind: 'members';
      readonly marker: string;
      readonly blank: readonly number[];
      readonly strangers: readonly number[];
    }
  /** All are there, and fewer than a majority remembers: a new quorum, if the identities say so. */
  | { readonly kind: 'new' }
  /** A majority has lost its memory, and some of the rest are known to remember. */
  | { readonly kind: 'forgotten'; readonly marker: string; readonly blank: readonly number[] }
  /** Too few answered to tell. */
  | { readonly kind: 'unknown' };

export function judgeMembership(votes: Votes<NodeView>): Membership {
  const majority = majorityOf(votes.length);
  const byMarker = new Map<string, number[]>();
  const blank: number[] = [];
  for (const [node, vote] of votes.entries()) {
    if (vote.kind !== 'answered') continue;
    const { marker } = vote.answer;
    if (marker === null) blank.push(node);
    else byMarker.set(marker, [...(byMarker.get(marker) ?? []), node]);
  }
  const ranked = [...byMarker].sort((one, other) => other[1].length - one[1].length);
  const [marker, members = []] = ranked[0] ?? [];
  if (marker !== undefined && members.length >= majority) {
    const strangers = ranked.slice(1).flatMap(([, nodes]) => nodes);
    return { kind: 'members', marker, blank, strangers };
  }
  if (votes.every(({ kind }) => kind === 'answered') && byMarker.size <= 1) return { kind: 'new' };
  if (marker !== undefined && blank.length >= majority) return { kind: 'forgotten', marker, blank };
  return { kind: 'unknown' };
}
