import type { LeaseRecord } from '../../../coordinators/index.js';
import { Leases } from '../../../leases/index.js';
import { defaultShardCount, shardLeaseName } from '../../../shards/index.js';
import { type Bench, type Check, type Finding, observerCall } from '../check.js';

const firstShareCount = 128;

export const exclusion: Check = {
  name: 'exclusion',
  claim: 'B asks for all 256 shards and gets only what A does not hold',
  run: overreach,
};

async function overreach(bench: Bench): Promise<Finding> {
  const names = Array.from({ length: defaultShardCount }, (_, shard) =>
    shardLeaseName(bench.name, shard),
  );
  // 128 leases in one request take some stores a while, and how long is not what this is about.
  const timing = { ttlMs: bench.clock.ttlMs * 3 };
  const a = new Leases(bench.openCoordinator(), { ...timing, id: 'A' });
  const b = new Leases(bench.openCoordinator(), { ...timing, id: 'B' });
  try {
    await a.acquireMany(names.slice(0, firstShareCount));
    await b.acquireMany(names);
    // Both at one moment, with nothing awaited in between.
    const believed = compare(heldBy(a), heldBy(b));
    const records = await bench.observer.list(`${bench.name}/shards`, observerCall);
    const recorded = compare(recordedFor(records, a), recordedFor(records, b));
    return {
      passed: isFairSplit(believed) && isFairSplit(recorded),
      isWrong: believed.intersectionCount > 0 || recorded.intersectionCount > 0,
      figures: [
        `by their own belief: ${sentence(believed)}`,
        `in the store: ${sentence(recorded)}`,
      ],
    };
  } finally {
    await Promise.all([a.close(), b.close()]);
  }
}

interface Comparison {
  readonly aCount: number;
  readonly bCount: number;
  readonly intersectionCount: number;
  readonly unionCount: number;
}

function heldBy(leases: Leases): Set<string> {
  const held = leases.live.filter(({ state }) => state === 'held');
  return new Set(held.map(({ name }) => name));
}

function recordedFor(records: readonly LeaseRecord[], leases: Leases): Set<string> {
  const own = records.filter(
    (record) => record.state === 'held' && record.holder.equals(leases.holder),
  );
  return new Set(own.map(({ name }) => name));
}

function compare(a: ReadonlySet<string>, b: ReadonlySet<string>): Comparison {
  return {
    aCount: a.size,
    bCount: b.size,
    intersectionCount: [...a].filter((name) => b.has(name)).length,
    unionCount: new Set([...a, ...b]).size,
  };
}

function isFairSplit({ aCount, bCount, intersectionCount, unionCount }: Comparison): boolean {
  return (
    aCount === firstShareCount &&
    bCount === defaultShardCount - firstShareCount &&
    intersectionCount === 0 &&
    unionCount === defaultShardCount
  );
}

function sentence({ aCount, bCount, intersectionCount, unionCount }: Comparison): string {
  return `A ${aCount}, B ${bCount}, intersection ${intersectionCount}, union ${unionCount}`;
}
