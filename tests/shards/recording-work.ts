import type { Lease } from '../../src/leases/index.js';
import type { OwnedShard, RefusedShard, ShardWork } from '../../src/shards/index.js';

/** Work that does nothing but keep account, and that a test can slow down or make fail. */
export class RecordingWork implements ShardWork {
  readonly active = new Map<number, Lease>();
  readonly dropped: number[] = [];
  readonly drained: number[] = [];
  beginCount = 0;
  /** What `begin` and `drain` wait for or fail with. */
  onBegin: (shards: readonly OwnedShard[]) => Promise<void> = async () => {};
  onDrain: (shard: OwnedShard) => Promise<void> = async () => {};
  /** The term that is installed at the resource of a shard, if it refuses that of the lease. */
  refusalOf: (shard: OwnedShard) => number | undefined = () => undefined;

  async begin(shards: readonly OwnedShard[]): Promise<readonly RefusedShard[]> {
    this.beginCount += 1;
    await this.onBegin(shards);
    const refused: RefusedShard[] = [];
    for (const owned of shards) {
      const { shard, lease } = owned;
      const installedTerm = this.refusalOf(owned);
      if (installedTerm !== undefined) refused.push({ shard: owned, installedTerm });
      if (installedTerm !== undefined || lease.endReason !== undefined) continue;
      if (this.active.has(shard)) throw new Error(`shard ${shard} was begun twice`);
      this.active.set(shard, lease);
    }
    return refused;
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
