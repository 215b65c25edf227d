import type { Lease, Leases } from '../leases/index.js';
import type { Fleet } from './fleet.js';
import type { Holding } from './holdings.js';

/** Who should own a shard, by the latest plan; `undefined` if nobody is there for it. */
export type SuccessorOf = (shard: number) => { readonly id: string } | 'self' | undefined;

export interface GiverOptions {
  readonly leases: Leases;
  readonly reserveMs: number;
  readonly successorOf: SuccessorOf;
  /** The plan has changed and the drained shard stays with us, unless its lease has ended meanwhile. */
  readonly keep: (holding: Holding) => void;
  /** The holding ends here; its lease is about to end. `false` if it has ended already. */
  readonly letGo: (holding: Holding) => boolean;
  readonly onHandedOff: (holding: Holding, to: string, isConfirmed: boolean) => void;
  readonly onReleased: (holding: Holding) => void;
}

interface Gift extends Holding {
  readonly to: string;
}

/**
 * Gives drained shards to their successors. What is drained in one moment, or while a request is under way, leaves in
 * one request.
 */
export class Giver {
  readonly #options: GiverOptions;
  #queue: Holding[] = [];
  #flushing: Promise<void> | undefined;
  /** Given back, but perhaps without the store having heard of it. */
  readonly #given = new Map<number, Lease>();
  /** Names whose wake will only tell us what we did ourselves. */
  readonly #expectedWakes = new Set<string>();

  constructor(options: GiverOptions) {
    this.#options = options;
  }

  give(holding: Holding): void {
    this.#queue.push(holding);
    this.#flushing ??= this.#flush();
  }

  /** Whether a wake is the echo of our own giving, which changes nothing for us. Each is expected once. */
  isEcho(name: string): boolean {
    return this.#expectedWakes.delete(name);
  }

  /** Resolves when everything that was to be given is. */
  async whenIdle(): Promise<void> {
    await this.#flushing;
  }

  /** Shards that the store still shows as ours after they were given back are released once more. */
  async reconcile(fleet: Fleet): Promise<void> {
    const { coordinator, holder, timing } = this.#options.leases;
    if (this.#given.size === 0 && this.#expectedWakes.size === 0) return;
    const records = new Map(fleet.shards.map(({ shard, record }) => [shard, record]));
    const stuck = [...this.#given].flatMap(([shard, { name, term }]) => {
      const record = records.get(shard);
      const isOurs = record?.state === 'held' && record.term === term;
      return isOurs && record.holder.equals(holder) ? [{ name, holder, term }] : [];
    });
    this.#given.clear();
    // A wake that was lost must not silence a later one.
    this.#expectedWakes.clear();
    if (stuck.length > 0) await coordinator.release(stuck, { timeoutMs: timing.attemptTimeoutMs });
  }

  async #flush(): Promise<void> {
    // One tick, so that all that was drained in this moment is in the queue.
    await Promise.resolve();
    while (this.#queue.length > 0) await this.#giveAll(this.#queue.splice(0));
    this.#flushing = undefined;
  }

  async #giveAll(holdings: readonly Holding[]): Promise<void> {
    const { leases, reserveMs, successorOf } = this.#options;
    const gifts: Gift[] = [];
    const releases: Holding[] = [];
    for (const holding of holdings) {
      const successor = successorOf(holding.shard);
      if (successor === 'self') this.#options.keep(holding);
      else if (!this.#options.letGo(holding)) continue;
      else if (successor === undefined) releases.push(holding);
      else gifts.push({ ...holding, to: successor.id });
    }
    for (const { lease } of [...gifts, ...releases]) this.#expectedWakes.add(lease.name);
    const [confirmations] = await Promise.all([
      leases.handoffMany(gifts, reserveMs),
      leases.releaseMany(releases.map(({ lease }) => lease)),
    ]);
    gifts.forEach((gift, index) => {
      const isConfirmed = confirmations[index] ?? false;
      if (!isConfirmed) this.#given.set(gift.shard, gift.lease);
      this.#options.onHandedOff(gift, gift.to, isConfirmed);
    });
    for (const holding of releases) {
      this.#given.set(holding.shard, holding.lease);
      this.#options.onReleased(holding);
    }
  }
}
