import type { Coordinator } from '../../coordinators/index.js';
import { elapsedMs, realRuntime, sleep } from '../../time/index.js';
import { groupName, observerCall } from './settings.js';

export interface Owner {
  readonly worker: string;
  readonly term: number;
}

/** Who owns which shard, as the store has it at one moment. */
export type Owners = ReadonlyMap<number, Owner>;

const lookEveryMs = 25;

/** Watches the store's records, so that nothing about ownership is taken on a worker's word. */
export class OwnershipWatch {
  readonly #coordinator: Coordinator;
  readonly #signal: AbortSignal;

  constructor(coordinator: Coordinator, signal: AbortSignal) {
    this.#coordinator = coordinator;
    this.#signal = signal;
  }

  async now(): Promise<Owners> {
    const records = await this.#coordinator.list(`${groupName}/shards`, observerCall);
    const owners = new Map<number, Owner>();
    for (const record of records) {
      if (record.state !== 'held') continue;
      const shard = Number(record.name.slice(record.name.lastIndexOf('/') + 1));
      owners.set(shard, { worker: record.holder.id, term: record.term });
    }
    return owners;
  }

  /** Looks until the condition holds or the time is up, and returns what was seen last and how long that took. */
  async until(
    condition: (owners: Owners) => boolean,
    limitMs: number,
  ): Promise<{ readonly owners: Owners; readonly tookMs: number }> {
    const since = realRuntime.now();
    for (;;) {
      this.#signal.throwIfAborted();
      const owners = await this.now();
      const tookMs = elapsedMs(since, realRuntime.now());
      if (condition(owners) || tookMs >= limitMs) return { owners, tookMs };
      await sleep(realRuntime, lookEveryMs, this.#signal);
    }
  }
}

export function shardsOf(owners: Owners, worker: string): number[] {
  return [...owners].filter(([, owner]) => owner.worker === worker).map(([shard]) => shard);
}

/** Of these shards: every one has another owner than before, under a higher term. */
export function areTakenOver(shards: readonly number[], before: Owners, after: Owners): boolean {
  return shards.every((shard) => {
    const [old, current] = [before.get(shard), after.get(shard)];
    if (old === undefined || current === undefined) return false;
    return current.worker !== old.worker && current.term > old.term;
  });
}
