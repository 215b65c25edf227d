import type { Holder, LeaseRecord } from '../coordinators/index.js';
import { OptionError, TenureError } from '../errors/index.js';
import type { BalanceMember, MemberState } from './balance.js';
import { memberLeaseName } from './work.js';

/** A live worker of a group, as its member lease shows it. */
export interface Member extends BalanceMember {
  readonly holder: Holder;
  /** The term of the member lease; the member that registered first has the lowest. */
  readonly term: number;
  readonly shardCount: number;
}

/** What a worker says about itself beside its member lease. */
export interface MemberMetadata {
  readonly state: MemberState;
  readonly shardCount: number;
}

export function formatMemberMetadata({ state, shardCount }: MemberMetadata): string {
  return JSON.stringify({ state, shardCount });
}

/** The member a record of the group `<group>/members` describes; `undefined` for anything else that lies there. */
export function parseMember(group: string, record: LeaseRecord): Member | undefined {
  if (record.state !== 'held') return undefined;
  const { holder, term } = record;
  if (record.name !== memberLeaseName(group, holder.id)) return undefined;
  const metadata = parseMetadata(record.metadata);
  return metadata && { id: holder.id, holder, term, ...metadata };
}

const states: readonly unknown[] = ['joining', 'active', 'draining'] satisfies MemberState[];

function parseMetadata(text: string | undefined): MemberMetadata | undefined {
  if (text === undefined) return undefined;
  try {
    const { state, shardCount } = JSON.parse(text) as Record<string, unknown>;
    if (!states.includes(state) || !Number.isSafeInteger(shardCount)) return undefined;
    return { state: state as MemberState, shardCount: shardCount as number };
  } catch {
    return undefined;
  }
}

/** Two live processes want to be one member. Nothing was taken from the other one. */
export class MemberIdTakenError extends TenureError {
  readonly group: string;
  readonly memberId: string;

  constructor(group: string, memberId: string) {
    super(
      'TENURE_MEMBER_ID_TAKEN',
      `another live process is registered in "${group}" as "${memberId}": its member lease was renewed while this one waited for it to expire. Give every process an id of its own.`,
    );
    this.group = group;
    this.memberId = memberId;
  }
}

/** Keys would belong to two different shards at once. */
export function shardCountMismatch(
  memberId: string,
  theirCount: number,
  ownCount: number,
): OptionError {
  return new OptionError(
    'shardCount',
    ownCount,
    `differs from the ${theirCount} shards of the live member "${memberId}"`,
    'use one shard count in the whole group; to change it, stop every worker first',
  );
}
