import type { LeaseRecord } from '../coordinators/index.js';
import { OutcomeUnknownError, type TenureError } from '../errors/index.js';
import type { Lease, Leases } from '../leases/index.js';
import { sleep } from '../time/index.js';
import type { MemberState } from './balance.js';
import { Incumbent } from './incumbent.js';
import { formatMemberMetadata, MemberIdTakenError } from './members.js';
import { memberLeaseName } from './work.js';

/** The place of this process in the registry of its group: one lease, `<group>/members/<id>`. */
export class Membership {
  readonly #leases: Leases;
  readonly #group: string;
  readonly #shardCount: number;
  #state: MemberState = 'active';
  #lease: Lease | undefined;

  constructor(leases: Leases, group: string, shardCount: number) {
    this.#leases = leases;
    this.#group = group;
    this.#shardCount = shardCount;
  }

  get id(): string {
    return this.#leases.holder.id;
  }

  get lease(): Lease | undefined {
    return this.#lease;
  }

  /** The term of the member lease, or `undefined` while this process is not registered. */
  get term(): number | undefined {
    return this.#lease?.endReason === undefined ? this.#lease?.term : undefined;
  }

  /** An id alone is not us: while another process is registered under it, it is that one. */
  isSelf(id: string | undefined): boolean {
    return id === this.id && this.term !== undefined;
  }

  get state(): MemberState {
    return this.#state;
  }

  /** Others see it with a renewal that is sent at once. */
  set state(state: MemberState) {
    if (state === this.#state) return;
    this.#state = state;
    if (this.term !== undefined && this.#lease !== undefined) this.#lease.metadata = this.#metadata;
  }

  /** The store does not list us: if our record is really gone, this ends the lease at once. `true` if it did. */
  async doubt(): Promise<boolean> {
    const lease = this.#lease;
    if (lease === undefined || lease.endReason !== undefined) return false;
    const record = await this.#leases.read(this.#name);
    if (record?.state === 'held' && record.term === lease.term) return false;
    lease.supersede();
    return true;
  }

  /** Resolves when the next renewal is confirmed, which carries a new state; or when it should have been. */
  async whenTold(): Promise<void> {
    const { runtime, timing, events } = this.#leases;
    const told = new AbortController();
    const unsubscribe = events.on('renewal', ({ error }) => {
      if (error === undefined) told.abort();
    });
    await sleep(runtime, timing.attemptTimeoutMs, told.signal);
    unsubscribe();
  }

  /**
   * Registers. If the id is taken, waits until the lease of the other expires, since that may be a former incarnation of
   * this very process: also if a last renewal of that one is executed only now.
   *
   * @throws {MemberIdTakenError} if the other is alive, known after two ttl at most; errors of the store as
   * `Leases.acquire`; `signal`'s reason.
   */
  async register(signal: AbortSignal): Promise<void> {
    const incumbent = new Incumbent(this.#leases.runtime);
    for (;;) {
      const waitMs = incumbent.patienceMs(await this.#leases.read(this.#name));
      if (waitMs === undefined) break;
      const metadata = this.#metadata;
      this.#lease = await this.#leases.acquire(this.#name, { waitMs, metadata, signal });
      if (this.#lease !== undefined) return;
    }
    throw new MemberIdTakenError(this.#group, this.id);
  }

  /**
   * Registers again if the lease was lost, without waiting; `true` if it had to.
   *
   * @throws {MemberIdTakenError} if somebody else has the id now; errors of the store as `Leases.acquire`.
   */
  async ensure(): Promise<boolean> {
    if (this.term !== undefined) return false;
    const metadata = this.#metadata;
    const [outcome] = await this.#leases.acquireMany([this.#name], { metadata });
    if (outcome?.outcome === 'failed') throw outcome.error;
    if (outcome?.outcome !== 'granted') throw this.#refused(outcome?.current);
    const { lease } = outcome;
    this.#lease = lease;
    // The state may have changed while the request was on its way.
    if (metadata !== this.#metadata) lease.metadata = this.#metadata;
    return true;
  }

  /**
   * Makes the others look. Watches report names that became free and nobody frees one by joining, so a name of the
   * group is taken and freed again. Best effort: without it they look at their next sweep.
   */
  async ring(): Promise<void> {
    try {
      // An id cannot begin with a dot. If another rings right now, its release comes after this and wakes for both.
      const bell = await this.#leases.acquire(memberLeaseName(this.#group, '.bell'));
      await bell?.release();
    } catch {
      // Whatever is wrong with the store, the next pass meets it too and reports it.
    }
  }

  async leave(): Promise<void> {
    await this.#lease?.release();
    this.#lease = undefined;
  }

  #refused(current: LeaseRecord | undefined): TenureError {
    if (current?.state !== 'held' || !current.holder.equals(this.#leases.holder))
      return new MemberIdTakenError(this.#group, this.id);
    return new OutcomeUnknownError(
      `"${this.id}" is still registered in "${this.#group}" by a request of its own that had no answer; it is being taken back, then tried again.`,
    );
  }

  get #name(): string {
    return memberLeaseName(this.#group, this.id);
  }

  get #metadata(): string {
    return formatMemberMetadata({ state: this.#state, shardCount: this.#shardCount });
  }
}
