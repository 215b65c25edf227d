import { elapsedMs, type Instant } from '../time/index.js';
import type { ResolvedShardWorkerOptions } from './options.js';
import { shardLeaseName } from './work.js';

/** Which shards there are: those of the hash, and those that only pins name. */
export class ShardRange {
  readonly #options: ResolvedShardWorkerOptions;
  readonly #onError: (error: unknown) => void;
  readonly #hashed: readonly number[];
  #readAt: Instant | undefined;

  constructor(options: ResolvedShardWorkerOptions, onError: (error: unknown) => void) {
    this.#options = options;
    this.#onError = onError;
    this.#hashed = Array.from({ length: options.shardCount }, (_, shard) => shard);
  }

  /** Ascending. Never rejects: what was read before serves until the pins can be read again. */
  async current(): Promise<readonly number[]> {
    const { pins } = this.#options;
    if (pins === undefined) return this.#hashed;
    await this.#refresh();
    return [...this.#hashed, ...pins.extraShards];
  }

  /** With every sweep, not with every wake. */
  async #refresh(): Promise<void> {
    const { leases, pins, sweepEveryMs } = this.#options;
    const now = leases.runtime.now();
    if (this.#readAt !== undefined && elapsedMs(this.#readAt, now) < sweepEveryMs / 2) return;
    try {
      await pins?.refresh();
      this.#readAt = now;
    } catch (error) {
      this.#onError(error);
    }
  }
}

/** The hashed shards among some names of leases. */
export function shardsNamed(names: readonly string[], group: string, shardCount: number): number[] {
  const prefix = shardLeaseName(group, 0).slice(0, -1);
  return names
    .filter((name) => name.startsWith(prefix))
    .map((name) => Number(name.slice(prefix.length)))
    .filter((shard) => Number.isInteger(shard) && shard < shardCount);
}
