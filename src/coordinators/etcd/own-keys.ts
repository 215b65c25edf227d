import { type EtcdClient, type EtcdEvent, Follower } from '../../drivers/etcd/index.js';
import { elapsedMs, type Instant } from '../../time/index.js';
import type { HeldLease, Holdings } from './holdings.js';
import type { EtcdKeys } from './keys.js';
import { get } from './reader.js';

/**
 * What is held for a shorter time is not watched: whoever takes a name and gives it back at once pays for no watch.
 * A key that was deleted before that is noticed all the same, since its watch begins where the key was last seen.
 */
const settledMs = 250;
/** So many keys are watched. Of more, those that are held longest. */
const mostKeys = 500;
const inquiryMs = 2_000;

/** Watches the keys that this coordinator holds names by, for a hand or a server that deletes one. */
export class OwnKeys {
  readonly #client: EtcdClient;
  readonly #keys: EtcdKeys;
  readonly #holdings: Holdings;
  readonly #onLost: () => void;
  readonly #follower: Follower;
  #heldSince = new Map<string, Instant>();

  /** @param onLost is told that something is gone which nobody has given back. */
  constructor(client: EtcdClient, keys: EtcdKeys, holdings: Holdings, onLost: () => void) {
    this.#client = client;
    this.#keys = keys;
    this.#holdings = holdings;
    this.#onLost = onLost;
    this.#follower = new Follower({
      client,
      ranges: () => this.#ranges(),
      onEvents: (events) => this.#heed(events),
      // When a connection is lost, everything is renewed anyway.
      onAgain: () => {},
      gatheringMs: settledMs,
    });
  }

  /** Something is held that may not be watched yet. */
  changed(): void {
    this.#follower.changed();
  }

  close(): void {
    this.#follower.close();
  }

  #ranges() {
    const now = this.#client.runtime.now();
    const before = this.#heldSince;
    const leases = this.#someLeases();
    this.#heldSince = new Map(leases.map(({ key }) => [key, before.get(key) ?? now]));
    const settled = leases.filter(({ key }) => elapsedMs(before.get(key) ?? now, now) >= settledMs);
    if (settled.length < leases.length) this.#follower.changed();
    return settled.map(({ key, seenRevision }) => {
      return { key, after: seenRevision, onlyDeletions: true };
    });
  }

  /** One on each store lease at least: when that ends, all that hangs on it is gone. */
  #someLeases(): HeldLease[] {
    const leases = this.#holdings.leases();
    if (leases.length <= mostKeys) return leases;
    const firsts = new Map<string, HeldLease>();
    for (const lease of leases) if (!firsts.has(lease.leaseId)) firsts.set(lease.leaseId, lease);
    return [...new Set([...firsts.values(), ...leases])].slice(0, mostKeys);
  }

  #heed(events: readonly EtcdEvent[]): void {
    const deletions = new Map(
      events.map(({ keyValue: { key, modRevision } }) => [key, modRevision]),
    );
    for (const lease of this.#holdings.leases()) {
      const revision = deletions.get(lease.key) ?? 0;
      if (revision > lease.modRevision && this.#isKept(lease)) this.#inquire(lease, revision);
    }
    // What is gone needs no watch.
    this.#follower.changed();
  }

  #inquire(lease: HeldLease, revision: number): void {
    const tell = (isLoss: boolean) => {
      if (isLoss && this.#isKept(lease)) this.#onLost();
    };
    this.#isLoss(lease, revision).then(tell, () => tell(true));
  }

  #isKept(lease: HeldLease): boolean {
    return !lease.isLeaving && this.#holdings.leaseOf(lease.name) === lease;
  }

  /** Otherwise another client of this holder, such as one of another thread, has given it back. */
  async #isLoss({ name, leaseId }: HeldLease, revision: number): Promise<boolean> {
    const deadline = this.#client.deadline(inquiryMs);
    const held = { key: this.#keys.part('held', name) };
    const session = { key: this.#keys.session(leaseId) };
    // Who gives a name back deletes both of its keys at once, and leaves the note of the store lease.
    const operations = [get(held, revision), get(session, revision), get(session, revision - 1)];
    const { found } = await this.#client.read(operations, 'watch', deadline);
    const [isHeld, isNoted, wasNoted] = found.map((some) => some.length > 0);
    if (isHeld || (wasNoted && !isNoted)) return true;
    return (await this.#client.timeToLive(leaseId, 'watch', deadline)) === undefined;
  }
}
