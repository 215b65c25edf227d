import { Leases } from '../src/leases/index.js';
import { redisCoordinator } from '../src/redis.js';
import { type OwnedShard, ShardWorker } from '../src/shards/index.js';

export interface Owner {
  readonly worker: ShardWorker;
  /** When (monotonic, ms) work on a shard last began, and when its drain last began. */
  readonly beganAtMs: Map<number, number>;
  readonly drainedAtMs: Map<number, number>;
  close(): Promise<void>;
}

/** A shard worker whose work is nothing but noting the time. */
export function own(url: string, group: string, ttlMs: number, shardCount: number): Owner {
  const coordinator = redisCoordinator(url, { namespace: 'bench-owner' });
  const leases = new Leases(coordinator, {
    ttlMs,
    id: `p${process.pid}-${Math.random().toString(36).slice(2)}`,
  });
  const beganAtMs = new Map<number, number>();
  const drainedAtMs = new Map<number, number>();
  const work = {
    begin: async (shards: readonly OwnedShard[]) => {
      for (const { shard } of shards) beganAtMs.set(shard, performance.now());
    },
    drain: async ({ shard }: OwnedShard) => {
      drainedAtMs.set(shard, performance.now());
    },
    drop: () => undefined,
  };
  const worker = new ShardWorker({ leases, group, shardCount, work });
  return {
    worker,
    beganAtMs,
    drainedAtMs,
    close: async () => {
      await worker.stop();
      await leases.close();
      await coordinator.close();
    },
  };
}
