import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type BalanceMember,
  type BalancePlan,
  type BalanceShard,
  balance,
} from '../../src/shards/index.js';

interface Fleet {
  readonly members: readonly BalanceMember[];
  readonly shards: readonly BalanceShard[];
}

const active = (...ids: string[]): BalanceMember[] => ids.map((id) => ({ id, state: 'active' }));

function deal(...counts: [string | undefined, number][]): BalanceShard[] {
  return counts
    .flatMap(([owner, count]) => new Array<string | undefined>(count).fill(owner))
    .map((owner, shard) => ({ shard, owner }));
}

const anyFleet: fc.Arbitrary<Fleet> = fc
  .record({
    states: fc.array(
      fc.constantFrom<BalanceMember['state']>('active', 'active', 'active', 'joining', 'draining'),
      { maxLength: 7 },
    ),
    owners: fc.array(fc.integer({ min: -2, max: 6 }), { maxLength: 60 }),
  })
  .map(({ states, owners }) => ({
    members: states.map((state, index) => ({ id: `w${index}`, state })),
    // An owner beyond the members is a ghost: somebody whose member lease is gone.
    shards: owners.map((owner, shard) => ({ shard, owner: owner < 0 ? undefined : `w${owner}` })),
  }));

const activeFleet = anyFleet.filter(({ members }) =>
  members.some(({ state }) => state === 'active'),
);

function carryOut(fleet: Fleet, plan: BalancePlan, chosen: (shard: number) => boolean): Fleet {
  const shards = fleet.shards.map(({ shard, owner }) => ({
    shard,
    owner: chosen(shard) ? (plan.targets.get(shard) ?? owner) : owner,
  }));
  return { members: fleet.members, shards };
}

function countsOf(fleet: Fleet): Map<string, number> {
  const counts = new Map(fleet.members.map(({ id }) => [id, 0]));
  for (const { owner } of fleet.shards) {
    const count = owner === undefined ? undefined : counts.get(owner);
    if (owner !== undefined && count !== undefined) counts.set(owner, count + 1);
  }
  return counts;
}

describe('balance', () => {
  it.each([
    { members: 1, quotas: [256] },
    { members: 2, quotas: [128, 128] },
    { members: 3, quotas: [86, 85, 85] },
    { members: 5, quotas: [52, 51, 51, 51, 51] },
  ])('deals 256 free shards to $members members as $quotas', ({ members, quotas }) => {
    const ids = Array.from({ length: members }, (_, index) => `w${index}`);
    const plan = balance(active(...ids), deal([undefined, 256]));
    expect([...plan.quotas.values()]).toEqual(quotas);
    expect(plan.moves).toEqual([]);
    expect(plan.claims).toHaveLength(256);
  });

  it('moves exactly 128 shards when a second member joins, and 85 when a third does', () => {
    expect(balance(active('a', 'b'), deal(['a', 256])).moves).toHaveLength(128);
    const third = balance(active('a', 'b', 'c'), deal(['a', 128], ['b', 128]));
    expect(third.moves).toHaveLength(85);
    expect(third.moves.every(({ to }) => to === 'c')).toBe(true);
  });

  it('empties a draining member and nobody else', () => {
    const members: BalanceMember[] = [...active('a', 'b'), { id: 'c', state: 'draining' }];
    const plan = balance(members, deal(['a', 86], ['b', 85], ['c', 85]));
    expect(plan.moves).toHaveLength(85);
    expect(plan.moves.every(({ from }) => from === 'c')).toBe(true);
    expect([...plan.quotas]).toEqual([
      ['a', 128],
      ['b', 128],
      ['c', 0],
    ]);
  });

  it('names nobody for a shard that nobody is there for', () => {
    const plan = balance([{ id: 'a', state: 'draining' }], deal(['a', 2], [undefined, 1]));
    expect([...plan.targets]).toEqual([]);
    expect([...plan.moves, ...plan.claims]).toEqual([]);
    expect(balance([], deal(['a', 2])).targets.size).toBe(0);
  });

  it('lets a joining member keep what it has and gives it nothing', () => {
    const members: BalanceMember[] = [...active('a', 'b'), { id: 'c', state: 'joining' }];
    const plan = balance(members, deal(['a', 5], ['b', 5], ['c', 2], [undefined, 8]));
    expect([...plan.quotas.values()]).toEqual([9, 9, 2]);
    expect(plan.moves).toEqual([]);
  });

  it('moves the shards of large customers, which have the highest numbers, last', () => {
    const shards = [...deal(['a', 4]), { shard: 256, owner: 'a' }, { shard: 257, owner: 'a' }];
    expect(balance(active('a', 'b'), shards).moves.map(({ shard }) => shard)).toEqual([0, 1, 2]);
  });

  it('deals quotas that sum to the shards and differ by at most one among active members', () => {
    fc.assert(
      fc.property(activeFleet, ({ members, shards }) => {
        const { quotas } = balance(members, shards);
        const sum = [...quotas.values()].reduce((total, quota) => total + quota, 0);
        const shares = members
          .filter(({ state }) => state === 'active')
          .map(({ id }) => quotas.get(id) ?? 0);
        expect(sum).toBe(shards.length);
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
        for (const { id, state } of members) {
          if (state === 'draining') expect(quotas.get(id)).toBe(0);
          if (state === 'joining')
            expect(quotas.get(id)).toBeLessThanOrEqual(Math.min(...shares) + 1);
        }
      }),
    );
  });

  it('ends with every member at its quota and every shard with a member', () => {
    fc.assert(
      fc.property(activeFleet, (fleet) => {
        const plan = balance(fleet.members, fleet.shards);
        expect(countsOf(carryOut(fleet, plan, () => true))).toEqual(new Map(plan.quotas));
        expect(plan.targets.size).toBe(fleet.shards.length);
      }),
    );
  });

  it('moves as few shards as any fair deal can', () => {
    fc.assert(
      fc.property(anyFleet, ({ members, shards }) => {
        const sharing = members.filter(({ state }) => state !== 'draining').map(({ id }) => id);
        fc.pre(sharing.length > 0 && members.every(({ state }) => state !== 'joining'));
        const counts = countsOf({ members, shards });
        const floor = Math.floor(shards.length / sharing.length);
        const ceilingCount = shards.length % sharing.length;
        let fewest = Number.POSITIVE_INFINITY;
        for (let bits = 0; bits < 2 ** sharing.length; bits++) {
          const quotas = new Map(sharing.map((id, index) => [id, floor + ((bits >> index) & 1)]));
          if ([...quotas.values()].reduce((sum, quota) => sum + quota - floor, 0) !== ceilingCount)
            continue;
          const moved = members.map(({ id }) => (counts.get(id) ?? 0) - (quotas.get(id) ?? 0));
          fewest = Math.min(
            fewest,
            moved.reduce((sum, over) => sum + Math.max(0, over), 0),
          );
        }
        expect(balance(members, shards).moves).toHaveLength(fewest);
      }),
    );
  });

  it('decides alike whatever the order of its input', () => {
    const shuffled = anyFleet.chain(({ members, shards }) =>
      fc.tuple(
        fc.constant({ members, shards }),
        fc.shuffledSubarray([...members], { minLength: members.length }),
        fc.shuffledSubarray([...shards], { minLength: shards.length }),
      ),
    );
    fc.assert(
      fc.property(shuffled, ([{ members, shards }, otherMembers, otherShards]) => {
        const plan = balance(members, shards);
        const other = balance(otherMembers, otherShards);
        expect(new Map(other.targets)).toEqual(new Map(plan.targets));
        expect(new Map(other.quotas)).toEqual(new Map(plan.quotas));
        expect(other.moves).toEqual(plan.moves);
      }),
    );
  });

  it('moves and claims nothing in a settled fleet', () => {
    fc.assert(
      fc.property(activeFleet, (fleet) => {
        const settled = carryOut(fleet, balance(fleet.members, fleet.shards), () => true);
        const again = balance(settled.members, settled.shards);
        expect([...again.moves, ...again.claims]).toEqual([]);
      }),
    );
  });

  it('plans exactly the rest after any part of a plan was carried out', () => {
    fc.assert(
      fc.property(
        activeFleet,
        fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
        (fleet, done) => {
          const plan = balance(fleet.members, fleet.shards);
          const half = carryOut(fleet, plan, (shard) => done[shard] === true);
          const rest = balance(half.members, half.shards);
          expect(new Map(rest.targets)).toEqual(new Map(plan.targets));
          expect(new Map(rest.quotas)).toEqual(new Map(plan.quotas));
          expect(rest.moves).toEqual(plan.moves.filter(({ shard }) => done[shard] !== true));
        },
      ),
    );
  });

  it('converges when members act on snapshots of different age', () => {
    fc.assert(
      fc.property(
        activeFleet,
        fc.array(fc.tuple(fc.nat(6), fc.nat(5)), { minLength: 40, maxLength: 40 }),
        (start, steps) => {
          const history = [start];
          for (const [actor, age] of steps) {
            const now = history.at(-1) as Fleet;
            const seen = history.at(-1 - Math.min(age, history.length - 1)) as Fleet;
            const id = `w${actor}`;
            const plan = balance(seen.members, seen.shards);
            // One member acts: it gives away only what it owns and claims only what is free, as the store enforces.
            const moves = new Map(
              plan.moves.filter(({ from }) => from === id).map((m) => [m.shard, m.to]),
            );
            const claims = new Set(
              plan.claims.filter(({ to }) => to === id).map(({ shard }) => shard),
            );
            const isMember = (owner: string) => now.members.some((member) => member.id === owner);
            const shards = now.shards.map(({ shard, owner }) => {
              if (owner === id) return { shard, owner: moves.get(shard) ?? owner };
              const free = owner === undefined || !isMember(owner);
              return { shard, owner: free && claims.has(shard) ? id : owner };
            });
            history.push({ members: now.members, shards });
          }
          // Faults over: one round on the present, and it is settled, with the spread of a fair deal.
          const last = history.at(-1) as Fleet;
          const plan = balance(last.members, last.shards);
          const end = carryOut(last, plan, () => true);
          const again = balance(end.members, end.shards);
          expect([...again.moves, ...again.claims]).toEqual([]);
          // No churn: all moves together never exceed one per shard and member.
          expect(plan.moves.length).toBeLessThanOrEqual(last.shards.length);
        },
      ),
    );
  });
});
