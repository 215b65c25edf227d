import type { Coordinator, Holder, LeaseRecord } from '../coordinators/index.js';
import { RecordCorruptError } from '../errors/index.js';
import type { BalanceShard } from './balance.js';
import { type Member, parseMember } from './members.js';
import { shardLeaseName } from './work.js';

/** What the store showed of a group in one look: two requests, sent together. */
export interface Fleet {
  readonly members: readonly Member[];
  readonly shards: readonly ShardSighting[];
  /** Whether the store listed this process among the members; it counts as one if it holds the member lease. */
  readonly listsSelf: boolean;
  /** Until the earliest lease or reservation of somebody else ends, unless it is renewed; infinite if there is none. */
  readonly foreignExpiryMs: number;
}

export interface ShardSighting extends BalanceShard {
  /** `undefined` if it is free. */
  readonly record: LeaseRecord | undefined;
}

export interface FleetQuery {
  readonly group: string;
  /** Members that count differently are none of this fleet. */
  readonly shardCount: number;
  readonly shards: readonly number[];
  readonly self: Holder;
  /** The term of this process's member lease, if it holds one. */
  readonly selfTerm: number | undefined;
  readonly timeoutMs: number;
}

export async function readFleet(coordinator: Coordinator, query: FleetQuery): Promise<Fleet> {
  const { group, timeoutMs } = query;
  const [memberRecords, shardRecords] = await Promise.all([
    coordinator.list(`${group}/members`, { timeoutMs }),
    readShards(coordinator, query),
  ]);
  const listed = memberRecords
    .map((record) => parseMember(group, record))
    .filter((member) => member !== undefined);
  const listsSelf = listed.some(({ holder }) => holder.equals(query.self));
  const members = listsSelf ? listed : withSelf(listed, query);
  const owners = new Map(
    members
      .filter(({ shardCount }) => shardCount === query.shardCount)
      .map((member) => [member.id, member]),
  );
  const shards = query.shards.map((shard, index) => {
    const record = shardRecords[index];
    return { shard, record, owner: ownerOf(record, owners) };
  });
  return {
    members,
    shards,
    listsSelf,
    foreignExpiryMs: earliestExpiryMs([...memberRecords, ...shardRecords], query.self),
  };
}

function withSelf(listed: readonly Member[], query: FleetQuery): readonly Member[] {
  const { self, selfTerm, shardCount } = query;
  if (selfTerm === undefined) return listed;
  const others = listed.filter(({ id }) => id !== self.id);
  return [...others, { id: self.id, holder: self, term: selfTerm, state: 'active', shardCount }];
}

/** By name; or all of the group, if something foreign under one name keeps the others from being read. */
async function readShards(
  coordinator: Coordinator,
  { group, shards, timeoutMs }: FleetQuery,
): Promise<readonly (LeaseRecord | undefined)[]> {
  const names = shards.map((shard) => shardLeaseName(group, shard));
  try {
    return await coordinator.read(names, { timeoutMs });
  } catch (error) {
    if (!(error instanceof RecordCorruptError)) throw error;
    const records = await coordinator.list(`${group}/shards`, { timeoutMs });
    const byName = new Map(records.map((record) => [record.name, record]));
    return names.map((name) => byName.get(name));
  }
}

/**
 * Whose share a shard counts to. A lease of an incarnation that is no member any more counts to nobody: it will expire,
 * and who is to take it then is planned as if it were free.
 */
function ownerOf(
  record: LeaseRecord | undefined,
  members: ReadonlyMap<string, Member>,
): string | undefined {
  if (record === undefined) return undefined;
  if (record.state === 'reserved') return members.has(record.to) ? record.to : undefined;
  // Suspended by an operator: it counts to nobody until it is resumed.
  if (record.state !== 'held') return undefined;
  return members.get(record.holder.id)?.holder.equals(record.holder) ? record.holder.id : undefined;
}

function earliestExpiryMs(records: readonly (LeaseRecord | undefined)[], self: Holder): number {
  let earliestMs = Number.POSITIVE_INFINITY;
  for (const record of records) {
    if (record === undefined || (record.state === 'held' && record.holder.equals(self))) continue;
    if (record.state !== 'suspended') earliestMs = Math.min(earliestMs, record.remainingMs);
  }
  return earliestMs;
}
