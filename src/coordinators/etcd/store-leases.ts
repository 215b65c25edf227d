import type { Deadline, EtcdClient } from '../../drivers/etcd/index.js';
import { type Instant, isBefore } from '../../time/index.js';

interface StoreLease {
  readonly id: string;
  /** When the last request that extended it was sent. */
  aliveAt: Instant;
}

/**
 * The store leases of this coordinator: one for each ttl in whole seconds, shared by everything that lives so long. Each
 * is extended when something that hangs on it is made or renewed, and is left to the server to end otherwise.
 */
export class StoreLeases {
  readonly #client: EtcdClient;
  readonly #bySeconds = new Map<number, StoreLease>();
  readonly #pending = new Map<number, Promise<string>>();

  constructor(client: EtcdClient) {
    this.#client = client;
  }

  /** The seconds that a lease of so many milliseconds needs. */
  static seconds(durationMs: number): number {
    return Math.max(1, Math.ceil(durationMs / 1000));
  }

  /** The id of the lease of so many seconds, if it was extended by now and is not known to be gone. */
  current(seconds: number): string | undefined {
    return this.#bySeconds.get(seconds)?.id;
  }

  /** A lease of so many seconds that was extended after `since`, or is just being. */
  extended(seconds: number, since: Instant, what: string, deadline: Deadline): Promise<string> {
    const pending = this.#pending.get(seconds);
    if (pending !== undefined) return pending;
    const lease = this.#bySeconds.get(seconds);
    if (lease !== undefined && !isBefore(lease.aliveAt, since)) return Promise.resolve(lease.id);
    const extending = this.#extend(seconds, what, deadline).finally(() =>
      this.#pending.delete(seconds),
    );
    this.#pending.set(seconds, extending);
    return extending;
  }

  /** A lease for one thing alone, that nobody extends. */
  async single(durationMs: number, what: string, deadline: Deadline): Promise<string> {
    const id = this.#newId();
    await this.#client.grantLease(id, StoreLeases.seconds(durationMs), what, deadline);
    return id;
  }

  /** The server does not know it any more. */
  forget(id: string): void {
    for (const [seconds, lease] of this.#bySeconds)
      if (lease.id === id) this.#bySeconds.delete(seconds);
  }

  forgetAll(): void {
    this.#bySeconds.clear();
  }

  async #extend(seconds: number, what: string, deadline: Deadline): Promise<string> {
    const lease = this.#bySeconds.get(seconds);
    const sentAt = this.#client.runtime.now();
    if (lease !== undefined) {
      const granted = await this.#client.keepAlive(lease.id, what, deadline);
      if (granted !== undefined) {
        lease.aliveAt = sentAt;
        return lease.id;
      }
      this.forget(lease.id);
    }
    const id = this.#newId();
    // What counts is what was granted: never less than was asked for, and more if the server's minimum is higher.
    await this.#client.grantLease(id, seconds, what, deadline);
    this.#bySeconds.set(seconds, { id, aliveAt: sentAt });
    return id;
  }

  /** A positive int64; chosen here, so that a request that is executed twice makes one lease. */
  #newId(): string {
    const bits = BigInt(`0x${this.#client.runtime.randomHex(8)}`) & ((1n << 63n) - 1n);
    return String(bits === 0n ? 1n : bits);
  }
}
