import {
  type Deadline,
  EtcdClient,
  type EtcdEvents,
  type EtcdLocation,
  type EtcdTlsOptions,
  etcdLocation,
  LeaseNotFound,
} from '../../drivers/etcd/index.js';
import { requireObject } from '../../errors/checks.js';
import { OutcomeUnknownError, StoreRefusedError } from '../../errors/index.js';
import { Emitter, type EventSource, type Unsubscribe } from '../../events/index.js';
import { type Instant, type Runtime, sleep } from '../../time/index.js';
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
import { SnapshotLedger } from '../rules/snapshot.js';
import { endFollowing, endLease } from './endings.js';
import { Granting } from './granting.js';
import { type Holding, Holdings } from './holdings.js';
import { EtcdKeys } from './keys.js';
import { Planner } from './plan.js';
import { etcdPromises } from './promises.js';
import { type KeyPart, Reader, type View } from './reader.js';
import { Renewals } from './renewals.js';
import { StoreLeases } from './store-leases.js';
import { leaderOf, overdueTerms, snapshotOf } from './view.js';
import { Waking } from './waking.js';

export interface EtcdCoordinatorOptions {
  /**
   * Coordinators of one namespace of one cluster exclude each other; those of different ones do not meet. In the namespace
   * `default` the name `report` is the election that `etcdctl elect report` takes part in; in any other, say `prod`, it is
   * `prod:report`. What a key cannot hold is encoded, so the name `team/report` is the election `team%2Freport`. Written
   * like a name of a lease. Default `default`.
   */
  readonly namespace?: string;
  /** Stands before every key, elections included: for a user that may use one part of the key space alone. Default empty. */
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
  const { tls } = requireObject('options', options);
  return new ClusterCoordinator(etcdLocation(location, tls), options, location);
}

/** Names that one transaction takes: each needs up to five comparisons or operations, of the 128 that there are. */
const namesPerStep = 20;
const namesPerReading = 40;
/** How long a step that met another one waits before it begins anew. */
const conflictPauseMs = 5;

const partsOf: Readonly<Record<string, readonly KeyPart[]>> = {
  read: ['queue', 'after', 'suspended'],
  list: ['queue', 'after', 'suspended'],
  enroll: ['queue', 'after', 'suspended', 'candidates'],
  withdraw: ['queue', 'candidates'],
  candidates: ['candidates'],
  called: ['queue', 'after', 'suspended', 'candidates'],
  readDocument: ['document'],
  writeDocument: ['document'],
};
const usualParts: readonly KeyPart[] = ['queue', 'after', 'suspended', 'history'];
/** What is answered without a word about the time that is left. */
const timeless = new Set(['renew', 'release', 'handoff', 'readDocument', 'writeDocument']);

class ClusterCoordinator extends LedgerCoordinator implements EtcdCoordinator {
  readonly promises = etcdPromises;
  readonly #recipe: CoordinatorRecipe | undefined;
  readonly #runtime: Runtime;
  readonly #client: EtcdClient;
  readonly #keys: EtcdKeys;
  readonly #reader: Reader;
  readonly #leases: StoreLeases;
  readonly #holdings: Holdings;
  readonly #renewals: Renewals;
  readonly #waking: Waking;
  readonly #doubts = new Emitter<{ lost: undefined }>();
  readonly #events = new Emitter<Pick<EtcdCoordinatorEvents, 'corrupt'>>();

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
    this.#reader = new Reader(this.#client, this.#keys);
    this.#leases = new StoreLeases(this.#client);
    this.#holdings = new Holdings(runtime, (holding) => this.#end(holding));
    this.#renewals = new Renewals(this.#client, this.#keys, this.#leases, this.#holdings);
    this.#waking = new Waking(
      this.#client,
      this.#keys,
      (names, timeoutMs) => this.#view(names, 'called', this.#client.deadline(timeoutMs)),
      { ids: () => this.#holdings.leaseIds(), gone: (id) => this.#leaseGone(id) },
    );
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
      const { name } = checked[index] as AcquireRequest;
      if (result.outcome === 'corrupt')
        this.#events.emit('corrupt', { name, detail: result.detail });
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
    const answers = await this.#inSteps(rest, (some) => super.renew(some, left));
    const byName = new Map(rest.map(({ name }, index) => [name, answers[index]]));
    return checked.map((request) => byName.get(request.name) ?? { outcome: 'renewed' });
  }

  override async release(
    requests: readonly ReleaseRequest[],
    call: CallOptions,
  ): Promise<EndResult[]> {
    return this.#inSteps(checkReleases(requests), (some) => super.release(some, call));
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
    return this.#inSteps(checked, (some) => super.read(some, call), namesPerReading);
  }

  override async enroll(
    requests: readonly EnrollRequest[],
    call: CallOptions,
  ): Promise<EnrollResult[]> {
    const checked = copies(checkEnrollments(requests));
    const results = await this.#inSteps(checked, (some) => super.enroll(some, call));
    this.#waking.enrolled(checked, results);
    return results;
  }

  override async withdraw(requests: readonly WithdrawRequest[], call: CallOptions): Promise<void> {
    const checked = copies(checkWithdrawals(requests));
    this.#waking.withdrawn(checked);
    await this.#inSteps(checked, async (some) => {
      await super.withdraw(some, call);
      return some.map(() => undefined);
    });
  }

  watch(group: string, wake: (name: string | undefined) => void): Unsubscribe {
    this.throwIfClosed();
    return this.#waking.watch(checkGroup(group), isolated(wake));
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
    return this.#waking.onCalled(holder, isolated(called));
  }

  async close(): Promise<void> {
    this.#holdings.close();
    this.#waking.close();
    this.#client.close();
    this.#events.removeAll();
    this.#doubts.removeAll();
  }

  protected throwIfClosed(): void {
    this.#client.throwIfClosed();
  }

  protected async run<Answer>(step: LedgerStep<Answer>): Promise<Answer> {
    const { operation, scope, timeoutMs } = step;
    const deadline = this.#client.deadline(timeoutMs);
    this.throwIfClosed();
    const names =
      'names' in scope ? scope.names : await this.#reader.namesOf(scope.group, operation, deadline);
    if (!('names' in scope)) return this.#list(names, step, deadline);
    return await this.#step(names, step.operation, deadline, (ledger, view) =>
      step.execute(ledger, view.facts.wallMs),
    );
  }

  /** A group may have more names than one transaction can read: it is read in parts, and described as a whole. */
  async #list<Answer>(
    names: readonly string[],
    step: LedgerStep<Answer>,
    deadline: Deadline,
  ): Promise<Answer> {
    const snapshots = new Map<string, ReturnType<typeof snapshotOf>>();
    for (let start = 0; start < names.length; start += namesPerReading) {
      const some = names.slice(start, start + namesPerReading);
      const view = await this.#view(some, step.operation, deadline);
      for (const one of view.names.values()) snapshots.set(one.name, snapshotOf(one, view.facts));
    }
    const { wallMs } = this.#runtime.now();
    return step.execute(new SnapshotLedger(snapshots, { wallMs }), wallMs);
  }

  #view(names: readonly string[], operation: string, deadline: Deadline): Promise<View> {
    const parts = partsOf[operation] ?? usualParts;
    const withTimes = !timeless.has(operation);
    return this.#reader.read(names, { parts, withTimes, what: operation, deadline });
  }

  /**
   * Reads, lets `execute` decide, and writes what it changed under the condition that nothing of what was read has; if it
   * has, all of it begins anew.
   */
  async #step<Answer>(
    names: readonly string[],
    operation: string,
    deadline: Deadline,
    execute: (ledger: SnapshotLedger, view: View) => Answer,
    finish: (answer: Answer, revision: number, view: View) => Answer = (answer) => answer,
    offsetOf: (answer: Answer, view: View) => number = (_, view) => view.space.offset,
  ): Promise<Answer> {
    const since = this.#runtime.now();
    let needsHistoryLease = false;
    for (let round = 0; ; round++) {
      const view = await this.#view(names, operation, deadline);
      const { wallMs } = view.facts;
      const ledger = new SnapshotLedger(snapshotsOf(view), { wallMs });
      closeOverdue(ledger, view);
      this.#endOver(ledger, view);
      const answer = execute(ledger, view);
      const changes = ledger.changes();
      if (changes.size === 0 || isReading(operation)) return finish(answer, view.revision, view);
      try {
        const plan = await new Planner({
          view,
          keys: this.#keys,
          leases: this.#leases,
          runtime: this.#runtime,
          isByHolder: operation === 'renew',
          since,
          what: operation,
          deadline,
          offset: offsetOf(answer, view),
          needsHistoryLease,
          note: (holding) => this.#note(holding),
          forget: (kind, name, key) => this.#holdings.forget(kind, name, key),
        }).plan(changes);
        const { compares, operations, effects } = plan;
        if (operations.length === 0) {
          for (const effect of effects) effect(view.revision);
          return finish(answer, view.revision, view);
        }
        const reply = await this.#client.txn(compares, operations, operation, deadline);
        if (reply.succeeded) {
          for (const effect of effects) effect(reply.revision);
          return finish(answer, reply.revision, view);
        }
      } catch (error) {
        if (error instanceof LeaseNotFound) {
          // Which one of those that it names, the server does not say.
          this.#leases.forgetAll();
          needsHistoryLease = true;
        } else if (!(await this.#mayLookAgain(error, operation, deadline))) throw error;
      }
      await this.#pause(round, operation, deadline);
    }
  }

  #note(holding: Holding): void {
    this.#holdings.note(holding);
    if (holding.kind === 'lease') this.#waking.holds();
  }

  /** All that hung on it is gone: whoever renews it is to find out now, and not at the next renewal. */
  #leaseGone(id: string): void {
    this.#leases.forget(id);
    this.#doubts.emit('lost', undefined);
  }

  /** What this coordinator knows to be over is so for its own calls, be its key there still. */
  #endOver(ledger: SnapshotLedger, { names, facts }: View): void {
    for (const view of names.values()) {
      const holding = this.#holdings.lastLeaseOf(view.name);
      const isOurs = leaderOf(view)?.kv.lease === holding?.leaseId;
      if (holding !== undefined && isOurs && this.#holdings.isOver(holding))
        endLease(ledger, holding, facts.wallMs);
    }
  }

  /** Only an acquisition knows what it did before, by its attempt. */
  async #mayLookAgain(error: unknown, operation: string, deadline: Deadline): Promise<boolean> {
    const isOpen = error instanceof OutcomeUnknownError && operation === 'acquire';
    return isOpen && !this.#client.isClosed && this.#client.remainingMs(deadline) > conflictPauseMs;
  }

  async #pause(round: number, operation: string, deadline: Deadline): Promise<void> {
    const longestMs = conflictPauseMs * 2 ** Math.min(round, 4);
    const pauseMs = this.#runtime.random() * longestMs;
    if (this.#client.remainingMs(deadline) <= pauseMs) {
      throw new StoreRefusedError(
        'CONTENDED',
        `${operation} met changes by others ${round + 1} times and ran out of time; nothing was executed. Try again.`,
      );
    }
    await sleep(this.#runtime, pauseMs);
    this.throwIfClosed();
  }

  async #grantSome(
    requests: readonly AcquireRequest[],
    timeoutMs: number,
  ): Promise<AcquireResult[]> {
    this.throwIfClosed();
    const deadline = this.#client.deadline(timeoutMs);
    const since = this.#runtime.now();
    this.#prepareLeases(requests, since, deadline);
    const names = requests.map(({ name }) => name);
    const granting = new Granting(requests);
    try {
      return await this.#step<AcquireResult[]>(
        names,
        'acquire',
        deadline,
        (ledger, view) => granting.execute(ledger, view),
        (_, revision, view) => granting.answers(revision, view),
        (_, view) => granting.offset(view),
      );
    } catch (error) {
      // What may be executed yet has to end in its time, although nobody renews it.
      if (error instanceof OutcomeUnknownError) this.#suspect(requests);
      throw error;
    }
  }

  /** While the names are read, what a grant will hang on is extended. */
  #prepareLeases(requests: readonly AcquireRequest[], since: Instant, deadline: Deadline): void {
    const seconds = new Set(requests.map(({ ttlMs }) => StoreLeases.seconds(ttlMs)));
    for (const one of seconds)
      this.#leases.extended(one, since, 'acquire', deadline).catch(() => undefined);
  }

  #suspect(requests: readonly AcquireRequest[]): void {
    for (const { name, holder, attempt, ttlMs: lifeMs } of requests) {
      if (this.#holdings.leaseOf(name) !== undefined) continue;
      const from = this.#runtime.now();
      const unknown = { key: '', leaseId: '', guardId: undefined, modRevision: -1 };
      const lease = { holder, attempt, term: 0, graceMs: 0 };
      this.#holdings.note({ kind: 'lease', name, from, lifeMs, ...unknown, ...lease });
    }
  }

  /** What this coordinator has not renewed is over. */
  async #end(holding: Holding): Promise<void> {
    const deadline = this.#client.deadline(endingMs);
    const { kind, name } = holding;
    if (kind === 'after') {
      await this.#step([name], 'follow', deadline, (ledger, view) => {
        const after = view.names.get(name)?.after;
        if (after?.modRevision === holding.modRevision)
          endFollowing(ledger, name, after, view.facts.wallMs);
      });
      return;
    }
    if (kind === 'candidate') {
      await this.#step([name], 'withdraw', deadline, (ledger, view) => {
        const kv = view.names.get(name)?.candidateKeys.find(({ key }) => key === holding.key);
        if (kv?.lease === holding.leaseId) ledger.candidates.withdraw(name, holding.holder);
      });
      return;
    }
    await this.#step([name], 'expire', deadline, (ledger, view) => {
      const names = view.names.get(name);
      const leader = names && leaderOf(names);
      // Another coordinator, such as one of another thread, may renew it by now.
      const isOurs = leader?.kv.lease === holding.leaseId || holding.leaseId === '';
      if (isOurs) endLease(ledger, holding, view.facts.wallMs);
    });
  }

  async #inSteps<Request, Answer>(
    requests: readonly Request[],
    step: (some: readonly Request[]) => Promise<Answer[]>,
    size = namesPerStep,
  ): Promise<Answer[]> {
    if (requests.length <= size) {
      if (requests.length > 0) return await step(requests);
      this.throwIfClosed();
      return [];
    }
    const parts: Promise<Answer[]>[] = [];
    for (let start = 0; start < requests.length; start += size)
      parts.push(step(requests.slice(start, start + size)));
    // All have settled before any is reported: nothing of a call that was answered is under way.
    const settled = await Promise.allSettled(parts);
    const failed = settled.find(({ status }) => status === 'rejected');
    const unknown = settled.find(
      (one) => one.status === 'rejected' && one.reason instanceof OutcomeUnknownError,
    );
    const isPartial = settled.some(({ status }) => status === 'fulfilled');
    if (failed?.status === 'rejected') throw partial(unknown ?? failed, isPartial);
    return settled.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  }
}

const endingMs = 2_000;

/** A batch that was executed in part has no answer as a whole. */
function partial(
  failed: PromiseRejectedResult | PromiseSettledResult<unknown>,
  isPartial: boolean,
) {
  const reason: unknown = failed.status === 'rejected' ? failed.reason : undefined;
  if (!isPartial || reason instanceof OutcomeUnknownError) return reason;
  return new OutcomeUnknownError('a batch was executed in part', reason);
}

function isReading(operation: string): boolean {
  return ['read', 'list', 'candidates', 'readDocument'].includes(operation);
}

function snapshotsOf(view: View) {
  const snapshots = new Map<string, ReturnType<typeof snapshotOf>>();
  for (const one of view.names.values()) snapshots.set(one.name, snapshotOf(one, view.facts));
  return snapshots;
}

/** Ends the lines of terms whose store lease is gone: nobody was there to write it. */
function closeOverdue(ledger: SnapshotLedger, view: View): void {
  for (const names of view.names.values()) {
    for (const { term, grantedAtMs } of overdueTerms(names)) {
      const lease = names.history.leases[term];
      if (lease !== undefined && view.facts.lives.has(lease)) continue;
      const isRevoked = names.history.lines.some(
        (line) => line.kind === 'act' && line.act !== 'resume' && line.atMs >= grantedAtMs,
      );
      const reason = isRevoked ? 'revoked' : 'expired';
      ledger.histories.close(names.name, term, reason, view.facts.wallMs);
    }
  }
}

/** Another coordinator of the same cluster, for another thread. */
function recipeOf(
  urls: string | readonly string[],
  options: Omit<EtcdCoordinatorOptions, 'runtime'>,
): CoordinatorRecipe {
  return { module: import.meta.url, factory: 'etcdCoordinator', args: [urls, options] };
}

/** A listener that throws must not keep others from being told. */
function isolated<Value>(listener: (value: Value) => void): (value: Value) => void {
  const outlet = new Emitter<{ told: Value }>();
  outlet.on('told', listener);
  return (value) => outlet.emit('told', value);
}
