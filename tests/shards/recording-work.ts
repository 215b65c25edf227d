import type { Lease } from '../../src/leases/index.js';
import type { OwnedShard, ShardWork } from '../../src/shards/index.js';

/** Work that does nothing but keep account, and that a test can slow down or make fail. */
export class RecordingWork implements ShardWork {
  readonly active = new Map<number, Lease>();
  readonly dropped: number[] = [];
  readonly drained: number[] = [];
  beginCount = 0;
  /** What `begin` and `drain` wait for or fail with. */
  onBegin: (shards: readonly OwnedShard[]) => Promise<void> = async () => {};
  onDrain: (shard: OwnedShard) => Promise<void> = async () => {};

  async begin(shards: readonly OwnedShard[]): Promise<void> {
    this.beginCount += 1;
    await this.onBegin(shards);
    for (const { shard, lease } of shards) {
      if (lease.endReason !== undefined) continue;
      if (this.active.has(shard)) throw new Error(`shard ${shard} was begun twice`);
      this.active.set(shard, lease);
    }
  }

  async drain(owned: OwnedShard): Promise<void> {
    await this.onDrain(owned);
    this.#end(owned);
    this.drained.push(owned.shard);
  }

  drop(owned: OwnedShard): void {
    this.#end(owned);
    this.dropped.push(owned.shard);
  }

  #end({ shard, lease }: OwnedShard): void {
    if (this.active.get(shard) === lease) this.active.delete(shard);
  }
}
