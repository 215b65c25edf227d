import type { Deadline, EtcdClient } from '../../drivers/etcd/index.js';
import { OutcomeUnknownError, UnreachableError } from '../../errors/index.js';
import { type Instant, isBefore, withDeadline } from '../../time/index.js';

interface StoreLease {
  readonly id: string;
  /** When the last request that extended it was sent. */
  aliveAt: Instant;
}

/** A request that makes or extends a store lease and has no answer yet. */
interface Extension {
  /** `undefined`: not yet, so it will be after whatever has begun by now. */
  sentAt: Instant | undefined;
  readonly id: Promise<string>;
}

/** While an older request is under way, those who come are gathered for the next one, for so long at most. */
const gatheringMs = 10;

/**
 * The store leases of this coordinator: one for each ttl in whole seconds, shared by everything that lives so long. Each
 * is extended when something that hangs on it is made or renewed, and is left to the server to end otherwise.
 */
export class StoreLeases {
  readonly #client: EtcdClient;
  readonly #bySeconds = new Map<number, StoreLease>();
  readonly #pending = new Map<number, Extension>();
  /** Ids of leases that are being made: whoever asks for one meanwhile makes the same one. */
  readonly #newIds = new Map<number, string>();

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

  /** Whether it is one that is extended here. */
  owns(id: string | undefined): boolean {
    return [...this.#bySeconds.values()].some((lease) => lease.id === id);
  }

  /**
   * A lease of so many seconds that was extended by a request sent after `since`. One that is under way is waited for, if
   * it was sent after that; an older one may be executed already, however late it is answered.
   *
   * @throws {OutcomeUnknownError} at `deadline`, whatever deadline the request has that is waited for.
   */
  async extended(
    seconds: number,
    since: Instant,
    what: string,
    deadline: Deadline,
  ): Promise<string> {
    for (;;) {
      const lease = this.#bySeconds.get(seconds);
      if (lease !== undefined && !isBefore(lease.aliveAt, since)) return lease.id;
      const pending = this.#pending.get(seconds);
      const isTooOld = pending?.sentAt !== undefined && isBefore(pending.sentAt, since);
      if (pending === undefined || isTooOld) return await this.#begin(seconds, what, deadline);
      try {
        const leftMs = Math.max(1, this.#client.remainingMs(deadline));
        return await withDeadline(this.#client.runtime, leftMs, what, pending.id);
      } catch (error) {
        // The one who sent it had less time.
        const isUnanswered =
          error instanceof OutcomeUnknownError || error instanceof UnreachableError;
        const isOver = this.#client.isClosed || this.#client.remainingMs(deadline) <= 1;
        if (!isUnanswered || isOver) throw error;
      }
    }
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

  #begin(seconds: number, what: string, deadline: Deadline): Promise<string> {
    const send = async () => {
      await this.#gather(this.#pending.get(seconds), deadline);
      const sentAt = this.#client.runtime.now();
      extension.sentAt = sentAt;
      return await this.#extend(seconds, sentAt, what, deadline);
    };
    const id = send().finally(() => {
      if (this.#pending.get(seconds) === extension) this.#pending.delete(seconds);
    });
    const extension: Extension = { sentAt: undefined, id };
    this.#pending.set(seconds, extension);
    return id;
  }

  /** Until the older request has ended, or for a moment. */
  async #gather(older: Extension | undefined, deadline: Deadline): Promise<void> {
    if (older === undefined) return;
    const limitMs = Math.min(gatheringMs, this.#client.remainingMs(deadline) / 2);
    await withDeadline(this.#client.runtime, Math.max(0, limitMs), '', older.id).catch(() => {});
  }

  async #extend(
    seconds: number,
    sentAt: Instant,
    what: string,
    deadline: Deadline,
  ): Promise<string> {
    const lease = this.#bySeconds.get(seconds);
    if (lease !== undefined) {
      const granted = await this.#client.keepAlive(lease.id, what, deadline);
      if (granted !== undefined) {
        if (isBefore(lease.aliveAt, sentAt)) lease.aliveAt = sentAt;
        return lease.id;
      }
      this.forget(lease.id);
    }
    const id = this.#newIds.get(seconds) ?? this.#newId();
    this.#newIds.set(seconds, id);
    // What counts is what was granted: never less than was asked for, and more if the server's minimum is higher.
    await this.#client.grantLease(id, seconds, what, deadline);
    if (this.#newIds.get(seconds) === id) this.#newIds.delete(seconds);
    const made = this.#bySeconds.get(seconds);
    // Made twice, it was extended by the later request.
    if (made?.id !== id || isBefore(made.aliveAt, sentAt))
      this.#bySeconds.set(seconds, { id, aliveAt: sentAt });
    return id;
  }

  /** A positive int64; chosen here, so that a request that is executed twice makes one lease. */
  #newId(): string {
    const bits = BigInt(`0x${this.#client.runtime.randomHex(8)}`) & ((1n << 63n) - 1n);
    return String(bits === 0n ? 1n : bits);
  }
}
