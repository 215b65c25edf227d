import { parseZooKeeperUrl, type ZooKeeperAddress } from '../../drivers/zookeeper/index.js';
import { type Known, requireKnown } from '../../errors/checks.js';
import { ClosedError, OptionError } from '../../errors/index.js';
import { Emitter, type EventSource, isolated, type Unsubscribe } from '../../events/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import {
  type Call as CandidateCall,
  calledCount,
  type EnrollRequest,
  type EnrollResult,
  type WithdrawRequest,
} from '../candidates.js';
import {
  type AcquireRequest,
  type AcquireResult,
  type CallOptions,
  type Coordinator,
  type CoordinatorPromises,
  type CoordinatorRecipe,
  longestTtlMs,
  type RenewRequest,
  type RenewResult,
  type StoredDocument,
  type WriteDocumentResult,
} from '../contract.js';
import type { Holder } from '../holder.js';
import { validateName } from '../names.js';
import {
  checkDocument,
  checkEnrollments,
  checkGroup,
  checkHolder,
  checkRenewals,
  checkTimeout,
  checkWithdrawals,
  copies,
} from '../requests.js';
import type { Ledger } from '../rules/ledger.js';
import { LedgerCoordinator, type LedgerStep } from '../rules/ledger-coordinator.js';
import { enrollOne } from '../rules/operations.js';
import { Bells } from './bells.js';
import { Call } from './call.js';
import { Calls } from './calls.js';
import { Documents } from './documents.js';
import type { WantedEntries } from './entries.js';
import { Expiry } from './expiry.js';
import { ZooKeeperPaths } from './paths.js';
import { tagOf } from './places.js';
import { usualSessionMs, zookeeperPromises } from './promises.js';
import { Renewals } from './renewals.js';
import { ServerClock } from './server-clock.js';
import { Sessions } from './sessions.js';
import { Steps } from './steps.js';
import { Sweeper } from './sweeper.js';
import { TendedNodes } from './tended.js';
import { warningAbout } from './warnings.js';

export interface ZooKeeperCoordinatorOptions {
  /**
   * Coordinators of one namespace exclude each other; those of different ones do not meet. Written like a name of a
   * lease. Default `default`.
   */
  readonly namespace?: string;
  /** Clock, timers and randomness. Default: those of this process. */
  readonly runtime?: Runtime;
  /** How long one attempt to have a session with one server may take, in ms: 1 to 86,400,000. Default 2,000. */
  readonly connectTimeoutMs?: number;
  /**
   * The smallest ttl in ms that is accepted, which has to be a session time-out that every server grants (its
   * `minSessionTimeout`): where a server grants only a longer one, a lease of a process that died stays so much longer.
   * Default: what the URL says, `?smallestTtlMs=4000`; else 4,000, as a server grants it whose `tickTime` is 2,000.
   */
  readonly smallestTtlMs?: number;
  /**
   * The largest ttl in ms that is accepted, more than the smallest: a session time-out that every server grants (its
   * `maxSessionTimeout`). Where one does not, an acquire with a longer ttl rejects with `StoreMisconfiguredError`. Default: what
   * the URL says, `?largestTtlMs=40000`; else 40,000.
   */
  readonly largestTtlMs?: number;
}

export interface ZooKeeperCoordinatorEvents {
  /** There is a session for requests, with this server. */
  connected: { readonly address: string };
  /** It is lost, and with it every answer that was on its way. Leases go on: their sessions are others. */
  disconnected: { readonly reason: string };
  /** The ensemble has ended the session that leases of this ttl went with: they are lost. */
  expired: { readonly ttlMs: number };
  /** Something that breaks no promise, but should be changed. */
  warning: { readonly message: string };
  /** Something under a name of ours is not ours. It is left alone, and the name is granted to nobody. */
  corrupt: { readonly name: string; readonly detail: string };
}

/** A coordinator that also reports what happens to its sessions. */
export interface ZooKeeperCoordinator
  extends Coordinator,
    EventSource<ZooKeeperCoordinatorEvents> {}

const eventNames: Known<ZooKeeperCoordinatorEvents> = {
  ...{ connected: true, disconnected: true, expired: true, warning: true, corrupt: true },
};

const optionKeys: Known<ZooKeeperCoordinatorOptions> = {
  namespace: true,
  runtime: true,
  connectTimeoutMs: true,
  smallestTtlMs: true,
  largestTtlMs: true,
};

/**
 * A coordinator on a ZooKeeper ensemble, 3.5 or later (3.8.0 is what the tests run on). Needs no other package.
 *
 * Exclusive in the view of the ensemble, as long as a majority of its members keeps its data. A lease alone is never
 * mutual exclusion: put a fence at what the holder writes to.
 *
 * A lease is an ephemeral node, and goes with a session whose time-out is its ttl: it ends when this process does not
 * reach the ensemble for so long, or has not renewed it for so long by its own clock. A process that is frozen loses all
 * its leases within their ttl; one whose *loop* is blocked loses them as well. A session has at least the smallest
 * time-out that the servers grant, 4 s as they come: shorter ttls are refused.
 *
 * It connects at the first call. Calls may run concurrently; a call that gets no answer within its timeout gives the
 * connection up, and what else was in flight on it has an unknown outcome as well. What it sent happens later than that
 * only while this process cannot reach the ensemble at all, and at most for the smallest session time-out.
 *
 * @param url `zookeeper://host:2181,host2,host3/chroot`, with `user:password@` before the hosts for the scheme `digest`:
 * then only this user has rights on what is made, and else everybody who can connect. There is no TLS: the password goes over
 * the network as it is, unless a tunnel is between.
 * @throws {OptionError} if the URL or an option cannot be used.
 */
export function zookeeperCoordinator(
  url: string | URL,
  options: ZooKeeperCoordinatorOptions = {},
): ZooKeeperCoordinator {
  return new EnsembleCoordinator(url, requireKnown('options', options, optionKeys));
}

const everybody = () => 'all' as const;

/** What can be done again after a lost connection: a second execution finds the first, or does the same. */
const repeatable = ['acquire', 'renew', 'history'];

class EnsembleCoordinator extends LedgerCoordinator implements ZooKeeperCoordinator {
  readonly promises: CoordinatorPromises;
  readonly #recipe: CoordinatorRecipe;
  readonly #runtime: Runtime;
  readonly #sessions: Sessions;
  readonly #steps: Steps;
  readonly #tended: TendedNodes;
  readonly #renewals: Renewals;
  readonly #expiry: Expiry;
  readonly #documents: Documents;
  readonly #bells: Bells;
  readonly #calls: Calls;
  readonly #sweeper: Sweeper;
  readonly #active = new Set<Call>();
  readonly #events = new Emitter<ZooKeeperCoordinatorEvents>(eventNames);
  readonly #losses = new Emitter<{ lost: undefined }>({ lost: true });
  #isClosed = false;
  #wasConnected = false;

  constructor(url: string | URL, options: ZooKeeperCoordinatorOptions) {
    super();
    const { namespace = 'default', connectTimeoutMs = 2_000 } = options;
    const address = parseZooKeeperUrl(url);
    const {
      smallestTtlMs = address.smallestTtlMs ?? usualSessionMs.smallest,
      largestTtlMs = address.largestTtlMs ?? usualSessionMs.largest,
    } = options;
    const paths = new ZooKeeperPaths(address.chroot, namespace);
    checkMs('connectTimeoutMs', connectTimeoutMs);
    checkMs('smallestTtlMs', smallestTtlMs);
    checkMs('largestTtlMs', largestTtlMs, smallestTtlMs + 1);
    const runtime = requireRuntime(options.runtime);
    this.promises = zookeeperPromises(smallestTtlMs, largestTtlMs);
    this.#runtime = runtime;
    const clock = new ServerClock(runtime);
    this.#tended = new TendedNodes(runtime, (nodes) => void this.#expiry.end(nodes));
    this.#sessions = new Sessions(
      { runtime, address, paths, clock, connectTimeoutMs },
      {
        begun: (session) => this.#calls.listenFor(session),
        lost: () => this.#losses.emit('lost', undefined),
        expired: (session) => {
          this.#tended.forgetSession(session);
          this.#events.emit('expired', { ttlMs: session.ttlMs });
          this.#losses.emit('lost', undefined);
        },
      },
    );
    const shared = { paths, sessions: this.#sessions, clock, tended: this.#tended };
    this.#steps = new Steps({ ...shared, promises: this.promises });
    this.#renewals = new Renewals(shared);
    this.#documents = new Documents(paths, this.#sessions, runtime);
    this.#bells = new Bells(paths);
    this.#calls = new Calls(paths, this.#steps.loader, clock);
    this.#sweeper = new Sweeper({ ...shared, runtime });
    this.#expiry = new Expiry({
      ...shared,
      loader: this.#steps.loader,
      within: (attempt) => this.#within('expiry', connectTimeoutMs, true, attempt),
      ended: (names) => this.#tell(names, names),
    });
    this.#recipe = recipeOf(String(url), {
      namespace,
      connectTimeoutMs,
      smallestTtlMs,
      largestTtlMs,
    });
    this.#followControl(address);
  }

  /** No property of its own: it holds the credentials, and whoever prints a coordinator must not print those. */
  get recipe(): CoordinatorRecipe {
    return this.#recipe;
  }

  on<Name extends keyof ZooKeeperCoordinatorEvents>(
    name: Name,
    listener: (event: ZooKeeperCoordinatorEvents[Name]) => void,
  ): Unsubscribe {
    return this.#events.on(name, listener);
  }

  override async acquire(
    requests: readonly AcquireRequest[],
    call: CallOptions,
  ): Promise<AcquireResult[]> {
    const results = await super.acquire(requests, call);
    this.#sweeper.look();
    return results.map((result) => this.#steps.withTerm(result));
  }

  protected override grant(
    ledger: Ledger,
    requests: readonly AcquireRequest[],
    nowMs: number,
  ): AcquireResult[] {
    this.#steps.wants(ledger, requests);
    return super.grant(ledger, requests, nowMs);
  }

  /** One transaction for all that this process was granted and has renewed; the rest is read and judged. */
  override async renew(
    requests: readonly RenewRequest[],
    call: CallOptions,
  ): Promise<RenewResult[]> {
    const checked = copies(checkRenewals(requests, this.promises));
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return this.#nothing();
    return this.#within('renew', timeoutMs, true, async (one) => {
      const renewed = await this.#renewals.renew(one, checked);
      const rest = checked.filter(({ name }) => !renewed.has(name));
      const judged = rest.length === 0 ? [] : await this.#judge(one, rest, timeoutMs);
      const byName = new Map(rest.map(({ name }, index) => [name, judged[index]]));
      return checked.map(({ name }) => byName.get(name) ?? { outcome: 'renewed' });
    });
  }

  async #judge(
    call: Call,
    requests: readonly RenewRequest[],
    timeoutMs: number,
  ): Promise<RenewResult[]> {
    const scope = { names: requests.map(({ name }) => name) };
    const execute = (ledger: Ledger, nowMs: number) =>
      requests.map((request) => this.extend(ledger, request, nowMs));
    const step = { operation: 'renew', mode: 'write', scope, timeoutMs, execute } as const;
    return (await this.#steps.run(call, step)).answer;
  }

  #nothing(): never[] {
    this.throwIfClosed();
    return [];
  }

  override async enroll(
    requests: readonly EnrollRequest[],
    call: CallOptions,
  ): Promise<EnrollResult[]> {
    const checked = copies(checkEnrollments(requests));
    const timeoutMs = checkTimeout(call);
    const execute = (ledger: Ledger, nowMs: number) =>
      checked.map((request) => enrollOne(ledger, request, nowMs));
    const first = { count: calledCount, isAlive: this.#steps.isAlive };
    const wanted = ({ digest, id }: Holder) => ({ digests: [digest], tags: [tagOf(id)], first });
    const step = { operation: 'enroll', timeoutMs, execute } as const;
    const results = await this.#atEntries(checked, step, wanted);
    for (const [index, { name, holder }] of checked.entries()) {
      const position = results[index]?.position;
      // Who waits from here is to be called here.
      if (position !== undefined) this.#calls.attend(name, holder, position);
      else this.#calls.leave(name, holder);
    }
    return results;
  }

  override async withdraw(requests: readonly WithdrawRequest[], call: CallOptions): Promise<void> {
    const checked = copies(checkWithdrawals(requests));
    const timeoutMs = checkTimeout(call);
    const execute = (ledger: Ledger) =>
      checked.map(({ name, holder }) => ledger.candidates.withdraw(name, holder));
    const step = { operation: 'withdraw', timeoutMs, execute } as const;
    await this.#atEntries(checked, step, ({ digest }) => ({ digests: [digest], tags: [] }));
    for (const { name, holder } of checked) this.#calls.leave(name, holder);
  }

  /** Looks at the entries of these holders, and at no others but those that the step wants as well. */
  async #atEntries<Answer>(
    requests: readonly WithdrawRequest[],
    step: Pick<LedgerStep<Answer[]>, 'operation' | 'timeoutMs' | 'execute'>,
    wanted: (holder: Holder) => WantedEntries,
  ): Promise<Answer[]> {
    if (requests.length === 0) return this.#nothing();
    const holders = new Map(requests.map(({ name, holder }) => [name, holder]));
    const scope = { names: [...holders.keys()] };
    const ofName = (name: string) => wanted(holders.get(name) as Holder);
    const { answer } = await this.#within(step.operation, step.timeoutMs, true, (one) =>
      this.#steps.run(one, { ...step, mode: 'write', scope }, { wanted: ofName }),
    );
    return answer;
  }

  override async readDocument(
    name: string,
    call: CallOptions,
  ): Promise<StoredDocument | undefined> {
    validateName(name);
    return this.#within('readDocument', checkTimeout(call), true, (one) =>
      this.#documents.read(one, name),
    );
  }

  override async writeDocument(
    name: string,
    text: string,
    expectedVersion: number,
    call: CallOptions,
  ): Promise<WriteDocumentResult> {
    validateName(name);
    checkDocument(text, expectedVersion);
    return this.#within('writeDocument', checkTimeout(call), false, (one) =>
      this.#documents.write(one, name, text, expectedVersion),
    );
  }

  watch(group: string, wake: (name: string | undefined) => void): Unsubscribe {
    this.throwIfClosed();
    const unsubscribe = this.#bells.watch(checkGroup(group), isolated('watch', wake));
    this.#connect();
    return unsubscribe;
  }

  onConnectionLost(lost: () => void): Unsubscribe {
    this.throwIfClosed();
    return this.#losses.on('lost', lost);
  }

  onCalled(holder: Holder, called: (call: CandidateCall) => void): Unsubscribe {
    this.throwIfClosed();
    checkHolder(holder);
    return this.#calls.onCalled(holder, isolated('onCalled', called));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const call of this.#active) call.close();
    this.#tended.clear();
    this.#bells.close();
    this.#calls.close();
    this.#sessions.close();
    this.#events.removeAll();
    this.#losses.removeAll();
  }

  protected override tellCorrupt(name: string, detail: string): void {
    this.#events.emit('corrupt', { name, detail });
  }

  protected throwIfClosed(): void {
    if (this.#isClosed) throw new ClosedError('the ZooKeeper coordinator');
  }

  protected async run<Answer>(step: LedgerStep<Answer>): Promise<Answer> {
    const { operation, mode, timeoutMs } = step;
    const isRepeatable = mode === 'read' || repeatable.includes(operation);
    const isAwaited = (name: string) => this.#calls.isAttended(name);
    const reading = operation === 'candidates' ? { wanted: everybody } : { isAwaited };
    const outcome = await this.#within(operation, timeoutMs, isRepeatable, (call) =>
      this.#steps.run(call, step, reading),
    );
    this.#tell(outcome.alteredNames, outcome.vacatedNames);
    return outcome.answer;
  }

  async #within<Answer>(
    operation: string,
    timeoutMs: number,
    isRepeatable: boolean,
    attempt: (call: Call) => Promise<Answer>,
  ): Promise<Answer> {
    this.throwIfClosed();
    const { control } = this.#sessions;
    const call = new Call({ runtime: this.#runtime, operation, timeoutMs, isRepeatable });
    this.#active.add(call);
    try {
      return await call.run(
        () => attempt(call),
        () => control.failure,
        () => control.connection?.destroy('a call was given up'),
      );
    } finally {
      this.#active.delete(call);
    }
  }

  #tell(altered: readonly string[], vacated: readonly string[]): void {
    const control = this.#sessions.control.connection;
    if (control === undefined || this.#isClosed) return;
    const names = [...new Set([...altered, ...vacated])];
    if (names.length > 0) this.#bells.ring(control, names);
    if (vacated.length > 0) void this.#calls.ringSuccessors(control, vacated);
  }

  #connect(): void {
    const { connection } = this.#sessions.control.ready();
    connection.catch(() => {});
  }

  #followControl(ensemble: ZooKeeperAddress): void {
    const { control } = this.#sessions;
    control.on('ready', (connection) => {
      const isFirst = !this.#wasConnected;
      this.#wasConnected = true;
      const { host, port } = connection.server;
      this.#events.emit('connected', { address: `${host}:${port}` });
      const message = isFirst ? warningAbout(ensemble) : undefined;
      if (message !== undefined) this.#events.emit('warning', { message });
      this.#bells.connected(connection, isFirst);
      this.#calls.connected(connection, this.#sessions.live, isFirst);
    });
    control.on('lost', ({ reason }) => {
      this.#events.emit('disconnected', { reason });
      this.#losses.emit('lost', undefined);
    });
  }
}

/** Both arguments can be sent to a worker thread; the runtime cannot, and there is that thread's own. */
function recipeOf(url: string, options: ZooKeeperCoordinatorOptions): CoordinatorRecipe {
  return { module: import.meta.url, factory: 'zookeeperCoordinator', args: [url, options] };
}

function checkMs(option: string, value: number, smallestMs = 1): void {
  if (typeof value === 'number' && value >= smallestMs && value <= longestTtlMs) return;
  const remedy = `use ${smallestMs} to ${longestTtlMs} milliseconds`;
  throw new OptionError(option, value, 'is out of range', remedy);
}
