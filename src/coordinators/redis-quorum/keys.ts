import { RedisKeys } from '../redis/index.js';

/** Where one node keeps the things of a namespace: those of a single server, and what makes it a member of a quorum. */
export class QuorumKeys extends RedisKeys {
  readonly #prefix = this.term.replace(/term$/, '');

  /** String: a random id of the memory that a node has: a new one when a quorum is set up with it, and with each that it gets back. */
  get identity(): string {
    return `${this.#prefix}identity`;
  }

  /** String with a TTL: who is giving the node its memory back. */
  get seeding(): string {
    return `${this.#prefix}seeding`;
  }

  /** String: since when (Unix ms, the node's clock) the node waits for all leases that it may have known to be over. */
  get quarantine(): string {
    return `${this.#prefix}quarantine`;
  }

  /** Hash with a TTL: names that were resumed, each with the suspension that was ended. */
  get resumed(): string {
    return `${this.#prefix}resumed`;
  }

  /** Matches the keys of the namespace, and no others. */
  get everything(): string {
    return `${this.#prefix}*`;
  }

  /* How the keys of each kind begin. */

  get leaseStart(): string {
    return `${this.#prefix}lease:`;
  }

  get historyStart(): string {
    return `${this.#prefix}history:`;
  }

  get documentStart(): string {
    return `${this.#prefix}doc:`;
  }

  get groupStart(): string {
    return `${this.#prefix}group:`;
  }
}
