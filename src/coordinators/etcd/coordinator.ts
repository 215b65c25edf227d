import {
  type Deadline,
  EtcdClient,
  type EtcdEvents,
  type EtcdLocation,
  type EtcdTlsOptions,
  etcdLocation,
} from '../../drivers/etcd/index.js';
import { type Known, requireKnown, requireKnownName } from '../../errors/checks.js';
import { OutcomeUnknownError, StoreRefusedError } from '../../errors/index.js';
import { Emitter, type EventSource, isolated, type Unsubscribe } from '../../events/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type { Call, EnrollRequest, EnrollResult, WithdrawRequest } from '../candidates.js';
import type {
  AcquireRequest,
  AcquireResult,
  CallOptions,
  Coordinator,
  CoordinatorRecipe,
  EndResult,
  HandoffRequest,
  ReleaseRequest,
  RenewRequest,
  RenewResult,
} from '../contract.js';
import type { Holder } from '../holder.js';
import { validateName } from '../names.js';
import type { LeaseRecord } from '../record.js';
import {
  checkAcquires,
  checkEnrollments,
  checkGroup,
  checkHandoffs,
  checkHolder,
  checkNames,
  checkReleases,
  checkRenewals,
  checkTimeout,
  checkWithdrawals,
  copies,
} from '../requests.js';
import { LedgerCoordinator, type LedgerStep } from '../rules/ledger-coordinator.js';
import { enrollOne } from '../rules/operations.js';
import type { SnapshotLedger } from '../rules/snapshot.js';
import { describeName } from '../rules/standing.js';
import { inPart, inSteps } from './batches.js';
import { ending } from './endings.js';
import { Granting, noTermFor } from './granting.js';
import { type Holding, Holdings } from './holdings.js';
import { EtcdKeys } from './keys.js';
import { OwnWhereabouts, type Sought } from './own.js';
import { OwnKeys } from './own-keys.js';
import { isTooMuch } from './plan.js';
import { etcdPromises } from './promises.js';
import type { View } from './reader.js';
import { Renewals } from './renewals.js';
import { namesPerReading, namesPerStep, Steps } from './steps.js';
import { StoreLeases } from './store-leases.js';
import { isLedByOthers, requireOwnSuspension } from './view.js';
import { Voiding } from './voiding.js';
import { Waking } from './waking.js';

export interface EtcdCoordinatorOptions {
  /**
   * Coordinators of one namespace of one cluster exclude each other; those of different ones do not meet. In the namespace
   * `default` the name `report` is the election that `etcdctl elect report` takes part in; in any other, say `prod`, it is
   * `prod:report`. What a key cannot hold is encoded, so the name `team/report` is the election `team%2Freport`. Written
   * like a name of a lease. Default `default`.
   */
  readonly namespace?: string;
  /**
   * Stands before every key, elections included: for a user that may use one part of the key space alone. Begins with a slash, holds no
   * colon, and takes up to 1 KiB: any other could meet keys of other coordinators. With `/apps/` the name `report` is the election
   * `/apps/:default:report`, and `/apps/:prod:report` in the namespace `prod`. Coordinators with different ones do not meet. Default
   * empty.
   */
  readonly prefix?: string;
  /** Speak TLS, and with which certificates. Default: as the URL says. */
  readonly tls?: EtcdTlsOptions;
  /** Timers, clocks and randomness. Default: those of this process. */
  readonly runtime?: Runtime;
}

export interface EtcdCoordinatorEvents extends EtcdEvents {
  /** Something under a name of ours is not ours. It is left alone, and the name is granted to nobody. */
  corrupt: { readonly name: string; readonly detail: string };
}

/** A coordinator that also reports what happens to its connections. */
export interface EtcdCoordinator extends Coordinator, EventSource<EtcdCoordinatorEvents> {}

const eventNames: Known<EtcdCoordinatorEvents> = { lost: true, warning: true, corrupt: true };

const optionKeys: Known<EtcdCoordinatorOptions> = {
  namespace: true,
  prefix: true,
  tls: true,
  runtime: true,
};

/**
 * A coordinator on an etcd cluster, 3.4 or later, over the JSON gateway that its members have by default. Needs no package.
 *
 * A name is an election of etcd's own recipe, so `etcdctl elect` and tenure campaign for it against each other; what such a
 * candidate cannot know of (a suspension, a lock-delay, a handoff, a preference) does not bind it. The term is the revision
 * that created the key of the leader. Members are asked one after the other; one that hangs costs a share of the call.
 *
 * One store lease per ttl keeps all that this coordinator holds. Store leases count whole seconds and have a minimum
 * (1.5 times the election timeout): that is how long a name stays taken after its process has died. What a living process
 * does not renew is removed by itself in time, to the millisecond. `close()` ends no lease.
 *
 * @param location `etcd://user:password@h1:2379,h2,h3`, `etcds://` for TLS, or a list of such URLs.
 * @throws {OptionError} if the location or an option cannot be used.
 */
export function etcdCoordinator(
  location: string | URL | readonly string[],
  options: EtcdCoordinatorOptions = {},
): EtcdCoordinator {
  const { tls } = requireKnown('options', options, optionKeys);
  return new ClusterCoordinator(etcdLocation(location, tls), options, location);
}

/** How long the end of something that was not renewed may take to be written, before it is tried again. */
const endingMs = 2_000;

class ClusterCoordinator extends LedgerCoordinator implements EtcdCoordinator {
  readonly promises = etcdPromises;
  readonly #recipe: CoordinatorRecipe | undefined;
  readonly #runtime: Runtime;
  readonly #client: EtcdClient;
  readonly #keys: EtcdKeys;
  readonly #steps: Steps;
  readonly #whereabouts = new OwnWhereabouts();
  readonly #leases: StoreLeases;
  readonly #holdings: Holdings;
  readonly #voiding: Voiding;
  readonly #renewals: Renewals;
  readonly #waking: Waking;
  readonly #ownKeys: OwnKeys;
  readonly #doubts = new Emitter<{ lost: undefined }>({ lost: true });
  readonly #events = new Emitter<Pick<EtcdCoordinatorEvents, 'corrupt'>>({ corrupt: true });

  constructor(
    location: EtcdLocation,
    options: EtcdCoordinatorOptions,
    given: string | URL | readonly string[],
  ) {
    super();
    const { namespace = 'default', prefix = '', tls } = options;
    validateName(namespace, 'namespace');
    const runtime = requireRuntime(options.runtime);
    this.#runtime = runtime;
    this.#client = new EtcdClient({ what: 'the etcd coordinator', location, runtime });
    this.#keys = new EtcdKeys(prefix, namespace);
    this.#leases = new StoreLeases(this.#client);
    this.#voiding = new Voiding(this.#client, this.#keys);
    this.#holdings = new Holdings(runtime, (holding) => this.#end(holding));
    this.#steps = new Steps({
      client: this.#client,
      keys: this.#keys,
      leases: this.#leases,
      holdings: this.#holdings,
      voiding: this.#voiding,
      whereabouts: this.#whereabouts,
      note: (holding) => this.#note(holding),
    });
    this.#renewals = new Renewals(this.#client, this.#keys, this.#leases, this.#holdings);
    this.#waking = new Waking(this.#client, this.#keys, (names, timeoutMs) =>
      this.#steps.view(names, 'called', this.#client.deadline(timeoutMs)),
    );
    // Whoever renews it is to find out now, and not at the next renewal.
    const lost = () => this.#doubts.emit('lost', undefined);
    this.#ownKeys = new OwnKeys(this.#client, this.#keys, this.#holdings, lost);
    const urls = Array.isArray(given) ? given : String(given);
    const repeated = { namespace, prefix, ...(tls === undefined ? {} : { tls }) };
    if (options.runtime === undefined) this.#recipe = recipeOf(urls, repeated);
  }

  /** No property of its own: it holds the credentials, and whoever prints a coordinator must not print those. */
  get recipe(): CoordinatorRecipe | undefined {
    return this.#recipe;
  }

  on<Name extends keyof EtcdCoordinatorEvents>(
    name: Name,
    listener: (event: EtcdCoordinatorEvents[Name]) => void,
  ): Unsubscribe {
    requireKnownName('event', name, eventNames, 'is told by nobody');
    if (name === 'corrupt') return this.#events.on(name, listener as never);
    return this.#client.events.on(name as keyof EtcdEvents, listener as never);
  }

  override async acquire(
    requests: readonly AcquireRequest[],
    call: CallOptions,
  ): Promise<AcquireResult[]> {
    const checked = copies(checkAcquires(requests, this.promises));
    const timeoutMs = checkTimeout(call);
    const results = await this.#inSteps(checked, (some) => this.#grantSome(some, timeoutMs));
    for (const [index, result] of results.entries()) {
      const { name, holder } = checked[index] as AcquireRequest;
      if (result.outcome === 'held') this.#waking.keptOut(name, holder);
      if (result.outcome === 'corrupt') this.tellCorrupt(name, result.detail);
    }
    return results;
  }

  override async renew(
    requests: readonly RenewRequest[],
    call: CallOptions,
  ): Promise<RenewResult[]> {
    const checked = copies(checkRenewals(requests, this.promises));
    const timeoutMs = checkTimeout(call);
    this.throwIfClosed();
    const deadline = this.#client.deadline(timeoutMs);
    const isExtended = await this.#renewals.extend(checked, deadline);
    const rest = checked.filter((request) => !isExtended.has(request));
    const left = { timeoutMs: Math.max(1, this.#client.remainingMs(deadline)) };
    const answers = await this.#inSteps(rest, (some) => super.renew(some, left)).catch((error) => {
      throw isExtended.size > 0 ? inPart(error) : error;
    });
    const byName = new Map(rest.map(({ name }, index) => [name, answers[index]]));
    return checked.map((request) => byName.get(request.name) ?? { outcome: 'renewed' });
  }

  override async release(
    requests: readonly ReleaseRequest[],
    call: CallOptions,
  ): Promise<EndResult[]> {
    const checked = copies(checkReleases(requests));
    const timeoutMs = checkTimeout(call);
    this.throwIfClosed();
    const deadline = this.#client.deadline(timeoutMs);
    // What an acquisition may do yet must not come after its undoing.
    if (checked.some((request) => 'attempt' in request)) await this.#void('release', deadline);
    const left = { timeoutMs: Math.max(1, this.#client.remainingMs(deadline)) };
    return this.#inSteps(checked, (some) => super.release(some, left));
  }

  override async handoff(
    requests: readonly HandoffRequest[],
    call: CallOptions,
  ): Promise<EndResult[]> {
    const checked = checkHandoffs(requests, this.promises);
    return this.#inSteps(checked, (some) => super.handoff(some, call));
  }

  override async read(
    names: readonly string[],
    call: CallOptions,
  ): Promise<(LeaseRecord | undefined)[]> {
    const checked = checkNames(names);
    return inSteps(checked, namesPerReading, (some) => super.read(some, call), true);
  }

  override async enroll(
    requests: readonly EnrollRequest[],
    call: CallOptions,
  ): Promise<EnrollResult[]> {
    const checked = copies(checkEnrollments(requests));
    const timeoutMs = checkTimeout(call);
    const results = await this.#inSteps(checked, (some) => this.#enrollSome(some, timeoutMs));
    this.#waking.enrolled(checked, results);
    return results;
  }

  override async withdraw(requests: readonly WithdrawRequest[], call: CallOptions): Promise<void> {
    const checked = copies(checkWithdrawals(requests));
    const timeoutMs = checkTimeout(call);
    this.#waking.withdrawn(checked);
    await this.#inSteps(checked, (some) => {
      const deadline = this.#client.deadline(timeoutMs);
      const names = some.map(({ name }) => name);
      const sought = new Map(some.map(({ name, holder }) => [name, { holder }]));
      const execute = (ledger: SnapshotLedger) =>
        some.map(({ name, holder }) => ledger.candidates.withdraw(name, holder));
      const finish = () =>
        some.map(({ name, holder }) => this.#whereabouts.forget(name, holder.digest));
      const step = { names, operation: 'withdraw', deadline, sought, execute, finish };
      return this.#steps.run(step).catch((error) => {
        if (error instanceof OutcomeUnknownError)
          for (const { name, holder } of some) this.#whereabouts.doubt(name, holder);
        throw error;
      });
    });
  }

  watch(group: string, wake: (name: string | undefined) => void): Unsubscribe {
    this.throwIfClosed();
    return this.#waking.watch(checkGroup(group), isolated('watch', wake));
  }

  onConnectionLost(lost: () => void): Unsubscribe {
    const offs = [this.#client.events.on('lost', lost), this.#doubts.on('lost', lost)];
    return () => {
      for (const off of offs) off();
    };
  }

  onCalled(holder: Holder, called: (call: Call) => void): Unsubscribe {
    this.throwIfClosed();
    checkHolder(holder);
    return this.#waking.onCalled(holder, isolated('onCalled', called));
  }

  async close(): Promise<void> {
    this.#holdings.close();
    this.#waking.close();
    this.#ownKeys.close();
    this.#client.close();
    this.#events.removeAll();
    this.#doubts.removeAll();
  }

  protected override tellCorrupt(name: string, detail: string): void {
    this.#events.emit('corrupt', { name, detail });
  }

  protected throwIfClosed(): void {
    this.#client.throwIfClosed();
  }

  protected async run<Answer>(step: LedgerStep<Answer>): Promise<Answer> {
    this.throwIfClosed();
    const { operation, scope, timeoutMs } = step;
    const deadline = this.#client.deadline(timeoutMs);
    if (!('names' in scope)) {
      const ledger = await this.#steps.group(scope.group, operation, deadline);
      return step.execute(ledger, ledger.wallMs());
    }
    const { names } = scope;
    const execute = (ledger: SnapshotLedger, view: View): Answer => {
      const { wallMs } = view.facts;
      const [name = ''] = names;
      if (operation === 'suspend' || operation === 'resume')
        requireOwnSuspension(view.names.get(name), name);
      const isBeyondReach = operation === 'revoke' && isLedByOthers(view.names.get(name));
      // Another program leads, and would not hear of it: nothing is done, and that is what the answer shows.
      return isBeyondReach
        ? (describeName(ledger, name, wallMs) as Answer)
        : step.execute(ledger, wallMs);
    };
    return await this.#steps.run({ names, operation, deadline, execute });
  }

  async #enrollSome(
    requests: readonly EnrollRequest[],
    timeoutMs: number,
  ): Promise<EnrollResult[]> {
    const deadline = this.#client.deadline(timeoutMs);
    this.#prepareLeases(requests, 'enroll', deadline);
    const sought = new Map(requests.map((request) => [request.name, this.#soughtBy(request)]));
    const execute = (ledger: SnapshotLedger, view: View): EnrollResult[] =>
      requests.map((request) => {
        const result = enrollOne(ledger, request, view.facts.wallMs);
        const isWaiting = request.standing === 'waiting';
        return { ...result, position: isWaiting ? view.names.get(request.name)?.ahead : undefined };
      });
    const names = requests.map(({ name }) => name);
    try {
      return await this.#steps.run({ names, operation: 'enroll', deadline, sought, execute });
    } catch (error) {
      if (error instanceof OutcomeUnknownError) {
        for (const request of requests) {
          const key = this.#keys.candidate(request.name, request.holder);
          this.#holdings.doubtEntry(request, key);
        }
      }
      throw error;
    }
  }

  #soughtBy({ holder, standing, preference, ttlMs }: EnrollRequest): Sought {
    const leaseId = this.#leases.current(StoreLeases.seconds(ttlMs));
    return standing === 'waiting' ? { holder, preference, leaseId } : { holder };
  }

  /** Nothing is let in that was sent before. A full database takes no word of that, and lets nothing in. */
  async #void(what: string, deadline: Deadline): Promise<void> {
    try {
      await this.#voiding.of(this.#runtime.now(), what, deadline);
    } catch (error) {
      if (!(error instanceof StoreRefusedError)) throw error;
    }
  }

  /** Ends in the store what was not renewed in time. */
  async #end(holding: Holding): Promise<void> {
    const parts = { holdings: this.#holdings, leases: this.#leases };
    const step = async () => {
      const deadline = this.#client.deadline(endingMs);
      try {
        await this.#steps.run({ ...ending(holding, parts), deadline });
        this.#forgetEntry(holding);
      } catch (error) {
        if ('holder' in holding && error instanceof OutcomeUnknownError)
          this.#whereabouts.doubt(holding.name, holding.holder);
        throw error;
      }
    };
    if (holding.kind !== 'doubt') return await step();
    const deadline = this.#client.deadline(endingMs);
    const voided = this.#voiding.of(holding.sentBy, 'expire', deadline);
    // What is there is ended, be it that something may still come: then it is looked once more.
    await voided.catch(() => undefined);
    await step();
    await voided;
  }

  /** Whether it was still there or not: unless it was made anew meanwhile. */
  #forgetEntry(holding: Holding): void {
    const { kind, name, key } = holding;
    const isEntry = kind === 'candidate' || (kind === 'doubt' && holding.attempt === undefined);
    if (isEntry && !this.#holdings.knowsEntry(name, key))
      this.#whereabouts.forget(name, holding.holder.digest);
  }

  #note(holding: Holding): void {
    this.#holdings.note(holding);
    if (holding.kind === 'lease') this.#ownKeys.changed();
  }

  async #grantSome(
    requests: readonly AcquireRequest[],
    timeoutMs: number,
  ): Promise<AcquireResult[]> {
    const deadline = this.#client.deadline(timeoutMs);
    this.#prepareLeases(requests, 'acquire', deadline);
    const granting = new Granting(requests);
    try {
      const results = await this.#steps.run<AcquireResult[]>({
        names: requests.map(({ name }) => name),
        operation: 'acquire',
        deadline,
        execute: (ledger, view) =>
          view.isSpaceForeign ? noTermFor(requests, this.#keys) : granting.execute(ledger, view),
        finish: (results, revision, view) =>
          view.isSpaceForeign ? results : granting.answers(revision, view),
        offset: (view) => (view.isSpaceForeign ? view.space.offset : granting.offset(view)),
      });
      for (const [index, { outcome }] of results.entries()) {
        const request = requests[index] as AcquireRequest;
        const isNoted = this.#holdings.lastLeaseOf(request.name)?.attempt === request.attempt;
        // It was found as it had been granted before, by an answer that was lost.
        if (outcome === 'granted' && !isNoted) this.#holdings.doubtLease(request);
      }
      return results;
    } catch (error) {
      if (isTooMuch(error) && requests.length > 1) return this.#grantEach(requests, deadline);
      // What may be executed yet has to end in its time, although nobody renews it.
      if (error instanceof OutcomeUnknownError)
        for (const request of requests) this.#holdings.doubtLease(request);
      throw error;
    }
  }

  /** So many wait for these names that what removes them does not fit into one transaction. */
  async #grantEach(
    requests: readonly AcquireRequest[],
    deadline: Deadline,
  ): Promise<AcquireResult[]> {
    const leftMs = Math.max(1, this.#client.remainingMs(deadline));
    return await inSteps(requests, 1, (one) => this.#grantSome(one, leftMs));
  }

  /** While the names are read, what a grant or an entry will hang on is extended. */
  #prepareLeases(
    requests: readonly { readonly ttlMs: number }[],
    what: string,
    deadline: Deadline,
  ): void {
    const since = this.#runtime.now();
    const seconds = new Set(requests.map(({ ttlMs }) => StoreLeases.seconds(ttlMs)));
    for (const one of seconds)
      this.#leases.extended(one, since, what, deadline).catch(() => undefined);
  }

  #inSteps<Request, Answer>(
    requests: readonly Request[],
    step: (some: readonly Request[]) => Promise<Answer[]>,
  ): Promise<Answer[]> {
    this.throwIfClosed();
    if (requests.length === 0) return Promise.resolve([]);
    return inSteps(requests, namesPerStep, step);
  }
}

/** Another coordinator of the same cluster, for another thread. */
function recipeOf(
  urls: string | readonly string[],
  options: Omit<EtcdCoordinatorOptions, 'runtime'>,
): CoordinatorRecipe {
  return { module: import.meta.url, factory: 'etcdCoordinator', args: [urls, options] };
}
