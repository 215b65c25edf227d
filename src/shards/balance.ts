/**
 * Who should own which shard: a pure function of what the store showed, so that workers who saw the same decide alike.
 *
 * Two properties carry everything else:
 *
 * - **Minimal.** A shard moves only away from a member that owns more than its quota, and quotas are dealt so that the
 *   fewest shards have to. In a settled fleet nothing moves.
 * - **Stable under its own progress.** When any part of a plan has been carried out, planning again yields exactly the
 *   rest of it. So workers may act on snapshots of different age without undoing each other's steps.
 */

/**
 * - `active` takes its fair share.
 * - `joining` is alive and keeps what it has, but takes nothing more: it is not ready, or its work failed to begin.
 * - `draining` gives everything away.
 */
export type MemberState = 'joining' | 'active' | 'draining';

export interface BalanceMember {
  readonly id: string;
  readonly state: MemberState;
}

export interface BalanceShard {
  readonly shard: number;
  /** The member that owns it, or that it is reserved for; `undefined` if that is none of the members. */
  readonly owner: string | undefined;
}

export interface ShardMove {
  readonly shard: number;
  readonly from: string;
  readonly to: string;
}

export interface ShardClaim {
  readonly shard: number;
  readonly to: string;
}

export interface BalancePlan {
  /** How many shards each member should own. Those of active members differ by at most one. */
  readonly quotas: ReadonlyMap<string, number>;
  /** Who should own each shard. A shard that nobody is there for is missing. */
  readonly targets: ReadonlyMap<number, string>;
  readonly moves: readonly ShardMove[];
  /** The shards without an owner, and who is to claim them. */
  readonly claims: readonly ShardClaim[];
}

/** Deterministic in the content of its input, whatever its order. Ids and shard numbers must not repeat. */
export function balance(
  members: readonly BalanceMember[],
  shards: readonly BalanceShard[],
): BalancePlan {
  // Compared by code units: a locale would sort differently on different machines.
  const inOrder = [...members].sort((a, b) => (a.id < b.id ? -1 : 1));
  const owned = shardsByOwner(inOrder, shards);
  const quotas = dealQuotas(inOrder, owned, shards.length);
  const targets = new Map<number, string>();
  const pool: BalanceShard[] = [];
  for (const shard of shards) {
    if (shard.owner === undefined || !owned.has(shard.owner))
      pool.push({ ...shard, owner: undefined });
    else targets.set(shard.shard, shard.owner);
  }
  for (const { id } of inOrder) pool.push(...surplusOf(id, owned, quotas));
  for (const { shard } of pool) targets.delete(shard);
  pool.sort((a, b) => a.shard - b.shard);
  return { quotas, targets, ...dealPool(inOrder, owned, quotas, pool, targets) };
}

type Owned = ReadonlyMap<string, readonly number[]>;

function shardsByOwner(members: readonly BalanceMember[], shards: readonly BalanceShard[]): Owned {
  const owned = new Map<string, number[]>(members.map(({ id }) => [id, []]));
  for (const { shard, owner } of shards) if (owner !== undefined) owned.get(owner)?.push(shard);
  for (const list of owned.values()) list.sort((a, b) => a - b);
  return owned;
}

/**
 * Floor or ceiling of the fair share for everyone who takes part.
 *
 * The ceilings go first to those who own that much already (each spares a move), then by id. Nobody climbs past the
 * floor without having been dealt a ceiling, so a half-finished transition deals them just the same.
 */
function dealQuotas(
  members: readonly BalanceMember[],
  owned: Owned,
  shardCount: number,
): Map<string, number> {
  const quotas = new Map(members.map(({ id }) => [id, 0]));
  const countOf = (id: string) => owned.get(id)?.length ?? 0;
  let sharing = members.filter(({ state }) => state !== 'draining');
  let leftCount = shardCount;
  // A joining member below the fair share stays where it is; the others share the rest, which raises their share.
  for (let satisfied = sharing; satisfied.length > 0; ) {
    const floor = Math.floor(leftCount / sharing.length);
    satisfied = sharing.filter(({ id, state }) => state === 'joining' && countOf(id) <= floor);
    for (const { id } of satisfied) {
      quotas.set(id, countOf(id));
      leftCount -= countOf(id);
    }
    sharing = sharing.filter((member) => !satisfied.includes(member));
  }
  const floor = Math.floor(leftCount / sharing.length);
  const ceilingCount = leftCount % sharing.length;
  const hasCeiling = ({ id }: BalanceMember) => countOf(id) > floor;
  const ranked = [
    ...sharing.filter(hasCeiling),
    ...sharing.filter((member) => !hasCeiling(member)),
  ];
  ranked.forEach(({ id }, rank) => {
    quotas.set(id, floor + (rank < ceilingCount ? 1 : 0));
  });
  return quotas;
}

/** Its lowest shards beyond its quota: the highest are those that pins gave to one large customer, and stay longest. */
function surplusOf(id: string, owned: Owned, quotas: ReadonlyMap<string, number>): BalanceShard[] {
  const shards = owned.get(id) ?? [];
  const surplusCount = Math.max(0, shards.length - (quotas.get(id) ?? 0));
  return shards.slice(0, surplusCount).map((shard) => ({ shard, owner: id }));
}

/** Members in order take one run of the ordered pool each: whatever is taken out of a run, the others stay the same. */
function dealPool(
  members: readonly BalanceMember[],
  owned: Owned,
  quotas: ReadonlyMap<string, number>,
  pool: readonly BalanceShard[],
  targets: Map<number, string>,
): Pick<BalancePlan, 'moves' | 'claims'> {
  const moves: ShardMove[] = [];
  const claims: ShardClaim[] = [];
  let next = 0;
  for (const { id } of members) {
    const missingCount = Math.max(0, (quotas.get(id) ?? 0) - (owned.get(id)?.length ?? 0));
    for (const { shard, owner } of pool.slice(next, next + missingCount)) {
      targets.set(shard, id);
      if (owner === undefined) claims.push({ shard, to: id });
      else moves.push({ shard, from: owner, to: id });
    }
    next += missingCount;
  }
  return { moves, claims };
}
