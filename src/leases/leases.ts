import { type Coordinator, Holder, type LeaseRecord, validateName } from '../coordinators/index.js';
import {
  type Known,
  requireArray,
  requireInstance,
  requireKnown,
  requireObject,
} from '../errors/checks.js';
import { ClosedError } from '../errors/index.js';
import { Emitter, type EventSource } from '../events/index.js';
import type { Runtime } from '../time/index.js';
import { requireRuntime } from '../time/require-runtime.js';
import { type AcquireOutcome, Acquisition } from './acquisition.js';
import { Afterlife, type Gift, handoffOf, releaseOf } from './afterlife.js';
import type { EndReason } from './end-reason.js';
import type { Enrollment, EnrollOptions } from './enrollment.js';
import { Lease, type LeaseGrant, type LeaseHost } from './lease.js';
import type { Doubt } from './machine.js';
import {
  defaultHolderId,
  grantedTiming,
  type LeaseTiming,
  type ResolvedTiming,
  refineTiming,
  validateHandoff,
} from './options.js';
import { type AcquireOptions, acquireKeys, particularsOf, requireAcquire } from './particulars.js';
import type { Renewal } from './renewal.js';
import type { RenewalReport } from './renewer.js';
import { Renewers } from './renewers.js';
import { requireCoordinator } from './require-coordinator.js';
import { Roster } from './roster.js';
import { type RenewalOptions, resolveRenewal } from './thread/options.js';
import { ThreadRenewal } from './thread/thread-renewal.js';
import { requireWaitOptions, type WaitOptions, Waits } from './waits.js';

export interface LeasesOptions extends LeaseTiming, RenewalOptions {
  /**
   * Who this process is, the same after a restart: 1 to 128 of `A-Z a-z 0-9 . _ @ -`. Default host name and process
   * id. Every `Leases` adds a random nonce of its own, so that two with one id are two holders.
   */
  readonly id?: string;
  /** Clocks, timers and randomness. Default: the real ones. */
  readonly runtime?: Runtime;
}

export interface LeaseEvents {
  acquired: { readonly lease: Lease };
  uncertain: { readonly lease: Lease; readonly cause: Doubt['cause'] };
  recovered: { readonly lease: Lease };
  /** Ended against its will. Exactly one of `lost` and `released` follows every `acquired`. */
  lost: { readonly lease: Lease; readonly reason: EndReason };
  released: { readonly lease: Lease; readonly reason: EndReason };
  /** A fence at such a resource refused what came under the lease, as often as it did, also after the lease has ended. */
  refused: { readonly lease: Lease; readonly resource: string };
  renewal: RenewalReport;
  /**
   * Another live process is a candidate for the name under this process's id: give each an id of its own. At most once
   * a minute for each name.
   */
  duplicate: { readonly name: string; readonly id: string };
}

const eventNames: Known<LeaseEvents> = {
  acquired: true,
  uncertain: true,
  recovered: true,
  lost: true,
  released: true,
  refused: true,
  renewal: true,
  duplicate: true,
};
const leasesKeys: Known<LeasesOptions> = {
  id: true,
  runtime: true,
  ttlMs: true,
  renewEveryMs: true,
  giveUpAfterMs: true,
  attemptTimeoutMs: true,
  renewFrom: true,
  stallLimitMs: true,
  onStall: true,
};

/**
 * All leases of one process (one incarnation of a holder) at one coordinator.
 *
 * They are renewed together, in one request. Being told that somebody else holds a name is a value; errors mean that
 * nothing could be found out. The coordinator is used, not owned: close it after this.
 */
export class Leases implements AsyncDisposable {
  readonly coordinator: Coordinator;
  readonly holder: Holder;
  readonly runtime: Runtime;
  readonly timing: ResolvedTiming;
  readonly #emitter = new Emitter<LeaseEvents>(eventNames);
  readonly #renewal: Renewal<Lease>;
  readonly #afterlife: Afterlife;
  readonly #acquisition: Acquisition;
  readonly #host: LeaseHost;
  readonly #roster: Roster;
  readonly #waits: Waits;
  #closing: Promise<void> | undefined;

  /** @throws {OptionError} for a bad id or timing, or a ttl that the coordinator does not grant. */
  constructor(coordinator: Coordinator, options: LeasesOptions = {}) {
    requireCoordinator(coordinator);
    const { id = defaultHolderId() } = requireKnown('options', options, leasesKeys);
    this.coordinator = coordinator;
    this.runtime = requireRuntime(options.runtime);
    this.timing = grantedTiming(options, coordinator.promises);
    this.holder = Holder.create(id, this.runtime);
    this.#afterlife = new Afterlife(this.runtime, coordinator);
    this.#acquisition = new Acquisition({
      runtime: this.runtime,
      coordinator,
      holder: this.holder,
      afterlife: this.#afterlife,
      usualTiming: this.timing,
      ready: (timing) => this.#renewal.ready?.(timing),
      adopt: (grant) => this.#adopt(grant),
    });
    this.#roster = new Roster({
      runtime: this.runtime,
      coordinator,
      holder: this.holder,
      onDuplicate: (name) => this.#emitter.emit('duplicate', { name, id: this.holder.id }),
    });
    this.#waits = new Waits({
      runtime: this.runtime,
      holderId: this.holder.id,
      roster: this.#roster,
      attempt: (name, wanted) => this.#acquireOne(name, wanted),
      confirm: (lease) => this.#confirm(lease),
    });
    this.#host = this.#createHost();
    this.#renewal = this.#createRenewal(options);
  }

  get events(): EventSource<LeaseEvents> {
    return this.#emitter;
  }

  /** The leases that have not ended; those of one timing in order of acquisition. */
  get live(): Lease[] {
    return [...this.#renewal.leases];
  }

  /**
   * Acquires a name, waiting up to `waitMs` for it to become free; `undefined` if somebody else holds it until then, or
   * nobody may.
   *
   * Whoever waits stands in the name's queue (see {@link enroll}): when it becomes free, the first in it are called and
   * the others are not.
   *
   * @throws {OptionError} for a bad name or timing. {@link UnreachableError}, {@link OutcomeUnknownError},
   * {@link StoreRefusedError} if the store gave no usable answer; while waiting these are tried again until the time is
   * up. At once, waiting or not: {@link StoreMisconfiguredError}, and {@link RecordCorruptError} if something foreign is
   * stored under the name.
   */
  async acquire(name: string, options: WaitOptions = {}): Promise<Lease | undefined> {
    requireWaitOptions(options);
    options.signal?.throwIfAborted();
    if ((options.waitMs ?? 0) > 0) {
      return this.#waits.run(name, options, this.#timingOf(options));
    }
    const lease = await this.#tryOne(name, options);
    if (options.signal?.aborted) await lease?.release();
    options.signal?.throwIfAborted();
    return lease;
  }

  /**
   * Tries each name once, all in one request; the answers stand in the order of the names, which must differ.
   *
   * @throws as {@link acquire} if the request as a whole had no answer; what it may have acquired is released.
   */
  async acquireMany(
    names: readonly string[],
    options: AcquireOptions = {},
  ): Promise<AcquireOutcome[]> {
    if (this.#closing !== undefined) throw new ClosedError('the set of leases');
    requireArray('names', names, 'pass a list of names');
    for (const name of names) validateName(name);
    const timing = this.#timingOf(requireAcquire(options, acquireKeys));
    const particulars = particularsOf(options, timing);
    return this.#acquisition.many(
      names.map((name) => ({ name, ...particulars })),
      timing,
    );
  }

  /**
   * Gives back many leases in one request; those that have ended already are skipped.
   *
   * @throws {OptionError} for what is no lease; all leases go on. Never throws otherwise.
   */
  async releaseMany(leases: readonly Lease[]): Promise<void> {
    requireArray('leases', leases, 'pass a list of leases');
    for (const lease of leases) requireInstance('leases', lease, Lease);
    await this.#afterlife.giveBack(leases, 'released', this.timing.attemptTimeoutMs);
  }

  /**
   * Gives each lease to its successor in one request, as {@link Lease.handoff} does for one; `reserveMs` defaults to the
   * ttl. For each, in order: whether the store confirmed it; `false` for a lease that had ended already.
   *
   * @throws {OptionError} for a lease, an id or a duration that is none; all leases go on. Never throws otherwise.
   */
  async handoffMany(gifts: readonly Gift[], reserveMs = this.timing.ttlMs): Promise<boolean[]> {
    for (const gift of requireArray('gifts', gifts, 'pass a list of { lease, to }')) {
      const { lease, to } = requireObject('gifts', gift, 'pass a list of { lease, to }');
      requireInstance('gifts', lease, Lease);
      validateHandoff(to, reserveMs);
    }
    return this.#afterlife.giveAway(gifts, reserveMs, this.timing.attemptTimeoutMs);
  }

  /** What is stored under a name now: who holds it, in which term, for how long; `undefined` if it is free. */
  async read(name: string): Promise<LeaseRecord | undefined> {
    validateName(name);
    const [record] = await this.coordinator.read([name], {
      timeoutMs: this.timing.attemptTimeoutMs,
    });
    return record;
  }

  /**
   * Enters this process among the candidates of a name, until the enrollment is withdrawn or this is closed. Others see it
   * there; it is granted nothing. One who `acquire`s with `waitMs` is entered without this, for as long as it waits.
   *
   * @throws {OptionError} for a bad name or what a store would refuse. {@link ClosedError} after close.
   */
  enroll(name: string, options: EnrollOptions): Enrollment {
    if (this.#closing !== undefined) throw new ClosedError('the set of leases');
    return this.#roster.enroll(name, options, this.timing);
  }

  /**
   * Ends and releases every lease (reason `shutdown`). Stop their work first. A lease that was lost before, and whose work
   * was not said to have stopped (by `release`), is left to expire. Never throws; safe to call twice.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#waits.end(new ClosedError('the set of leases'));
    await Promise.all([
      this.#roster.close(),
      this.#afterlife.giveBack(this.live, 'shutdown', this.timing.attemptTimeoutMs),
    ]);
    await this.#renewal.close();
    // A grant that is still on its way is given back as soon as it is here.
    await this.#acquisition.settled();
    await this.#afterlife.close();
  }

  async #tryOne(name: string, options: AcquireOptions): Promise<Lease | undefined> {
    const outcome = await this.#acquireOne(name, options);
    if (outcome.outcome === 'failed') throw outcome.error;
    return outcome.outcome === 'granted' ? outcome.lease : undefined;
  }

  async #acquireOne(name: string, options: AcquireOptions): Promise<AcquireOutcome> {
    if (this.#closing !== undefined) throw new ClosedError('the set of leases');
    validateName(name);
    const timing = this.#timingOf(options);
    return this.#acquisition.one({ name, ...particularsOf(options, timing) }, timing);
  }

  #timingOf(options: AcquireOptions): ResolvedTiming {
    return refineTiming(this.timing, requireObject('options', options), this.coordinator.promises);
  }

  /** After a wait, one read decides: the record is there, and it is this holder's, in this term. */
  async #confirm(lease: Lease): Promise<boolean> {
    const record = await this.read(lease.name);
    return (
      record?.state === 'held' && record.term === lease.term && record.holder.equals(lease.holder)
    );
  }

  #createHost(): LeaseHost {
    return {
      runtime: this.runtime,
      newsOf: (lease) => this.#renewal.newsOf?.(lease),
      demandRenewal: (lease) => this.#renewal.demand(lease),
      becameUncertain: (lease, cause) => this.#emitter.emit('uncertain', { lease, cause }),
      recovered: (lease) => this.#emitter.emit('recovered', { lease }),
      ended: (lease, reason) => this.#ended(lease, reason),
      refused: (lease, resource) => this.#emitter.emit('refused', { lease, resource }),
      release: (lease) =>
        this.#afterlife.releaseOne(releaseOf(lease), lease.timing.attemptTimeoutMs),
      handoff: async (lease, to, reserveMs) => {
        const request = handoffOf(lease, to, reserveMs);
        const [isDone] = await this.#afterlife.handoff([request], lease.timing.attemptTimeoutMs);
        return isDone ?? false;
      },
      letGo: (lease) => this.#afterlife.letGoNow(lease),
    };
  }

  #adopt(grant: LeaseGrant): Lease | ClosedError {
    if (this.#closing !== undefined) return new ClosedError('the set of leases');
    const lease = new Lease(this.#host, grant);
    this.#renewal.add(lease);
    this.#emitter.emit('acquired', { lease });
    return lease;
  }

  #createRenewal(options: RenewalOptions): Renewal<Lease> {
    const { runtime, timing, coordinator } = this;
    const settings = resolveRenewal(options, timing, coordinator, runtime);
    const onAttempt = (report: RenewalReport) => this.#emitter.emit('renewal', report);
    return settings === undefined
      ? new Renewers(runtime, coordinator, onAttempt)
      : new ThreadRenewal({ runtime, settings, onAttempt });
  }

  #ended(lease: Lease, reason: EndReason): void {
    this.#renewal.remove(lease);
    const lost = lease.state === 'lost';
    if (lost) this.#afterlife.letGoLater(lease);
    this.#emitter.emit(lost ? 'lost' : 'released', { lease, reason });
  }
}
