import { type EtcdClient, type EtcdEvent, Follower } from '../../drivers/etcd/index.js';
import { elapsedMs, type Instant } from '../../time/index.js';
import type { HeldLease, Holdings } from './holdings.js';
import type { EtcdKeys } from './keys.js';
import { get, longestTxn } from './reader.js';

/**
 * What is held for a shorter time is not watched: whoever takes a name and gives it back at once pays for no watch.
 * A key that was deleted before that is noticed all the same, since its watch begins where the key was last seen.
 */
const settledMs = 250;
/** So many keys are watched. Of more, those that are held longest. */
const mostKeys = 500;
/** So many are asked for anew without a second thought. */
const keysAtOnce = 50;
const inquiryMs = 2_000;
/** Each needs three operations of a transaction. */
const keysPerInquiry = Math.floor(longestTxn / 3);

/** Watches the keys that this coordinator holds names by, for a hand or a server that deletes one. */
export class OwnKeys {
  readonly #client: EtcdClient;
  readonly #keys: EtcdKeys;
  readonly #holdings: Holdings;
  readonly #onLost: () => void;
  readonly #follower: Follower;
  #heldSince = new Map<string, Instant>();
  /** Those whose key was deleted in this revision, by whomever. */
  #gone = new Map<HeldLease, number>();
  #isInquiring = false;

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
      // When a connection is lost, everything is renewed anyway. What was compacted before it was told is found out by that, too.
      onAgain: (hasMissed) => {
        if (hasMissed) this.#onLost();
      },
      // A new watch asks for all keys anew: the more there are, the more rarely.
      gatheringMs: () => settledMs * Math.max(1, holdings.leases().length / keysAtOnce),
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
      if (revision > lease.modRevision && this.#isKept(lease)) this.#gone.set(lease, revision);
    }
    void this.#inquire();
    // What is gone needs no watch.
    this.#follower.changed();
  }

  /** With a store lease go all of its keys, each with an event of its own: what comes meanwhile is asked for together. */
  async #inquire(): Promise<void> {
    if (this.#isInquiring) return;
    this.#isInquiring = true;
    while (this.#gone.size > 0) {
      const gone = [...this.#gone];
      this.#gone = new Map();
      const isLoss = await this.#isAnyLost(gone).catch(() => true);
      if (isLoss && gone.some(([lease]) => this.#isKept(lease))) this.#onLost();
    }
    this.#isInquiring = false;
  }

  #isKept(lease: HeldLease): boolean {
    return !lease.isLeaving && this.#holdings.leaseOf(lease.name) === lease;
  }

  /** Otherwise another client of these holders, such as one of another thread, has given them back. */
  async #isAnyLost(gone: readonly (readonly [HeldLease, number])[]): Promise<boolean> {
    for (const leaseId of new Set(gone.map(([lease]) => lease.leaseId))) {
      const deadline = this.#client.deadline(inquiryMs);
      if ((await this.#client.timeToLive(leaseId, 'watch', deadline)) === undefined) return true;
    }
    for (let start = 0; start < gone.length; start += keysPerInquiry)
      if (await this.#isAnyTaken(gone.slice(start, start + keysPerInquiry))) return true;
    return false;
  }

  async #isAnyTaken(gone: readonly (readonly [HeldLease, number])[]): Promise<boolean> {
    // Who gives a name back deletes both of its keys at once, and leaves the note of the store lease.
    const operations = gone.flatMap(([{ name, leaseId }, revision]) => {
      const session = { key: this.#keys.session(leaseId) };
      const held = { key: this.#keys.part('held', name) };
      return [get(held, revision), get(session, revision), get(session, revision - 1)];
    });
    const deadline = this.#client.deadline(inquiryMs);
    const { found } = await this.#client.read(operations, 'watch', deadline);
    return gone.some((_, index) => {
      const some = found.slice(3 * index, 3 * index + 3);
      const [isHeld, isNoted, wasNoted] = some.map((keys) => keys.length > 0);
      return isHeld === true || (wasNoted === true && isNoted === false);
    });
  }
}
