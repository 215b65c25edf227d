import type { NodeContent, NodeStat, ZooKeeperConnection } from '../../drivers/zookeeper/index.js';
import { Holder } from '../holder.js';
import type { Ranked } from '../order.js';
import type { StoredCandidate } from '../rules/candidate.js';
import type { Call } from './call.js';
import { nodeOrNothing } from './nodes.js';
import type { ZooKeeperPaths } from './paths.js';
import { comparePlaces, type Place } from './places.js';
import { parseObject } from './state.js';

/** Whose entries are read as a whole: everybody's, or those of some holders, some ids, and the first who wait. */
export type WantedEntries =
  | 'all'
  | {
      readonly digests: readonly string[];
      readonly tags: readonly string[];
      readonly first?: {
        readonly count: number;
        /** Whether it counts: whoever does not leaves its place to the next. */
        readonly isAlive: (entry: StoredCandidate) => boolean;
      };
    };

export interface LoadedCandidate {
  readonly path: string;
  readonly place: Place;
  readonly stat: NodeStat;
  readonly ttlMs: number;
  /** The node of the session that it goes with. */
  readonly session: string;
  /** Its `since` is its rank among all that are there. */
  readonly entry: StoredCandidate;
}

/** Somebody who waits, whose entry was read or not. */
export interface Queued {
  readonly path: string;
  readonly digest: string;
  readonly ranked: Ranked;
  readonly candidate: LoadedCandidate | undefined;
}

export interface LoadedCandidates {
  /** What was read, whether it waits or not. */
  readonly read: readonly LoadedCandidate[];
  /** All who wait, in their order. */
  readonly queue: readonly Queued[];
  /** Older nodes of holders that have a newer one: two enrollments of one holder have met. They count for nothing. */
  readonly leftovers: readonly { readonly path: string; readonly digest: string }[];
}

export const noCandidates: LoadedCandidates = { read: [], queue: [], leftovers: [] };

/** A node of a candidate, and how many come before it. */
export interface Listed {
  readonly path: string;
  readonly place: Place;
  readonly rank: number;
}

/** @param children of the name's node: the texts of those that are wanted are read. */
export async function loadCandidates(
  call: Pick<Call, 'ask'>,
  connection: ZooKeeperConnection,
  paths: ZooKeeperPaths,
  name: string,
  wanted: WantedEntries,
  children: Promise<readonly string[]>,
): Promise<LoadedCandidates> {
  const parent = paths.name(name);
  const { listed, leftovers } = inOrder(
    (await children).flatMap((child) => {
      const place = paths.placeIn(child);
      return place === undefined ? [] : [{ path: `${parent}/${child}`, place }];
    }),
  );
  const known = new Map<string, LoadedCandidate | undefined>();
  const read = (some: readonly Listed[]) =>
    Promise.all(
      some.map(async (one) => {
        if (known.has(one.path)) return;
        known.set(one.path, undefined);
        const node = await nodeOrNothing(call, connection, one.path);
        known.set(one.path, node && decodeCandidate(one, node));
      }),
    );
  await read(listed.filter(isWanted(wanted, listed)));
  if (wanted !== 'all' && wanted.first !== undefined)
    await readFirst(listed, known, read, wanted.first);
  return {
    read: [...known.values()].filter((one) => one !== undefined),
    queue: listed.flatMap((one) => queuedOf(one, known)),
    leftovers,
  };
}

/** In the order in which they are called; of each holder the newest. */
function inOrder(found: readonly Omit<Listed, 'rank'>[]): {
  listed: Listed[];
  leftovers: LoadedCandidates['leftovers'];
} {
  const newest = new Map<string, Omit<Listed, 'rank'>>();
  const leftovers: { path: string; digest: string }[] = [];
  for (const one of [...found].sort((a, b) => b.place.since - a.place.since)) {
    const { digest } = one.place;
    if (newest.has(digest)) leftovers.push({ path: one.path, digest });
    else newest.set(digest, one);
  }
  const sorted = [...newest.values()].sort((a, b) => comparePlaces(a.place, b.place));
  return { listed: sorted.map((one, rank) => ({ ...one, rank })), leftovers };
}

function isWanted(wanted: WantedEntries, listed: readonly Listed[]): (one: Listed) => boolean {
  if (wanted === 'all') return () => true;
  const digests = new Set(wanted.digests);
  const tags = new Set(wanted.tags);
  const firstCount = wanted.first?.count ?? 0;
  const first = new Set(listed.slice(0, firstCount));
  return (one) =>
    digests.has(one.place.digest) ||
    tags.has(one.place.tag) ||
    (first.has(one) && one.place.standing === 'waiting');
}

/** Goes on behind those who were read and do not count. */
async function readFirst(
  listed: readonly Listed[],
  known: ReadonlyMap<string, LoadedCandidate | undefined>,
  read: (some: readonly Listed[]) => Promise<unknown>,
  { count, isAlive }: NonNullable<Exclude<WantedEntries, 'all'>['first']>,
): Promise<void> {
  const waiting = listed.filter(({ place }) => place.standing === 'waiting');
  let alive = 0;
  for (let at = 0; at < waiting.length && alive < count; ) {
    const some = waiting.slice(at, at + count - alive);
    await read(some);
    for (const { path } of some) {
      const entry = known.get(path)?.entry;
      if (entry !== undefined && isAlive(entry)) alive += 1;
    }
    at += some.length;
  }
}

/** Whoever was read and is gone, or is none of ours, does not wait. */
function queuedOf(
  { path, place, rank }: Listed,
  known: ReadonlyMap<string, LoadedCandidate | undefined>,
): Queued[] {
  const { standing, preference, digest } = place;
  const candidate = known.get(path);
  if (standing !== 'waiting' || (known.has(path) && candidate === undefined)) return [];
  const ranked = candidate?.entry ?? { standing, preference, since: rank, id: '', digest };
  return [{ path, digest, ranked, candidate }];
}

/** What is in the node itself, and changes with refreshes. */
interface WrittenCandidate {
  readonly tenure: number;
  readonly holder: string;
  readonly ttlMs: number;
  readonly session: string;
  /** Since when it stands like this, if its node was made later: with another preference. */
  readonly sinceMs?: number | undefined;
  readonly metadata?: string | undefined;
}

export function encodeCandidate(
  { holder, metadata }: StoredCandidate,
  rest: Pick<WrittenCandidate, 'ttlMs' | 'session' | 'sinceMs'>,
): Buffer {
  const written: WrittenCandidate = { tenure: 1, holder: holder.wire, ...rest, metadata };
  return Buffer.from(JSON.stringify(written));
}

/** @returns nothing if what stands in the node is none of ours. */
export function decodeCandidate(
  { path, place, rank }: Listed,
  { data, stat }: NodeContent,
): LoadedCandidate | undefined {
  const written = parseObject(data.toString()) as Partial<WrittenCandidate> | undefined;
  if (written?.tenure !== 1) return undefined;
  const { ttlMs, session, metadata, sinceMs = stat.createdAtMs } = written;
  const holder = Holder.parse(typeof written.holder === 'string' ? written.holder : '');
  if (holder?.digest !== place.digest || typeof session !== 'string') return undefined;
  if (!Number.isFinite(ttlMs) || ttlMs === undefined || !Number.isFinite(sinceMs)) return undefined;
  if (metadata !== undefined && typeof metadata !== 'string') return undefined;
  const { standing, preference, digest } = place;
  const entry = {
    ...{ holder, id: holder.id, digest, standing, preference, since: rank, sinceMs, metadata },
    deadlineMs: stat.modifiedAtMs + ttlMs,
    refresh: stat.modifiedZxid,
  };
  return { path, place, stat, ttlMs, session, entry };
}
