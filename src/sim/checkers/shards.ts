import type { Lease } from '../../leases/index.js';
import type { StreamWorker } from '../../streams/worker/index.js';
import type { SimHost } from '../host.js';
import type { Bench, Checker } from './checker.js';

/** After the faults the fleet settles within this, and from then on moves nothing; in milliseconds of true time. */
const settledAfterMs = 25_000;

/**
 * A shard is given away only after the work on it has stopped. Once the faults are over: every shard has an owner, the fleet is balanced, and a settled fleet moves nothing. (That a
 * shard has one owner at most is what the checkers of terms and beliefs look after: it is a lease.)
 */
export class ShardsChecker implements Checker {
  readonly name = 'shards';
  readonly #shardCount: number;
  readonly #workers = new Map<string, StreamWorker>();
  readonly #handled = new Set<Lease>();
  #bench: Bench | undefined;
  /** Claims and losses so late that nobody has a reason for them any more. */
  #lateMoveCount = 0;

  constructor(shardCount: number) {
    this.#shardCount = shardCount;
  }

  attach(bench: Bench): void {
    this.#bench = bench;
    bench.witness.on('crashed', ({ process }) => this.#workers.delete(process));
    bench.witness.on('ended', ({ process, lease, reason }) => {
      const isGiven = reason === 'handed-off' || reason === 'released';
      if (isGiven && this.#handled.has(lease))
        bench.violated(`${process} gave ${lease.name} away while it handled a message of it`);
    });
  }

  joined(host: SimHost, worker: StreamWorker): void {
    this.#workers.set(host.id, worker);
    worker.events.on('shardsClaimed', ({ shards }) => this.#moved(shards.length));
    worker.events.on('shardLost', () => this.#moved(1));
    worker.events.on('shardRefused', () => host.witness.cover('a shard was refused to its owner'));
    worker.events.on('shardDrained', () => host.witness.cover('a shard was handed over'));
  }

  /** Ids are not shared in a run: whoever is in the way is a former incarnation, and over after a while. */
  refused(id: string): void {
    this.#bench?.violated(`${id} was refused its own id, as if another process had it`);
  }

  /** A message is handled under this lease, until `work` ends; it is the only one. */
  async handling(lease: Lease, work: Promise<void>): Promise<void> {
    this.#handled.add(lease);
    try {
      await work;
    } finally {
      this.#handled.delete(lease);
    }
  }

  /** Before anything is closed. */
  settle(): void {
    const bench = this.#bench;
    if (bench === undefined) return;
    const counts = [...this.#workers.values()].map(({ shards }) => shards.length);
    const total = counts.reduce((sum, count) => sum + count, 0);
    if (total !== this.#shardCount)
      bench.violated(`${total} of ${this.#shardCount} shards have an owner at the end`);
    if (Math.max(...counts) - Math.min(...counts) > 1)
      bench.violated(`the fleet is not balanced at the end: ${counts.join(', ')} shards`);
    if (this.#lateMoveCount > 0)
      bench.violated(`${this.#lateMoveCount} shards moved in a settled fleet`);
  }

  #moved(count: number): void {
    const { nowMs, healedAtMs } = this.#bench ?? {};
    if (nowMs === undefined || healedAtMs === undefined) return;
    if (nowMs() > healedAtMs + settledAfterMs) this.#lateMoveCount += count;
  }
}
