import { type Known, requireKnown } from '../../errors/checks.js';
import { OptionError } from '../../errors/index.js';
import { Emitter, type EventSource, isolated, type Unsubscribe } from '../../events/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type { Act, RevokeRequest } from '../acts.js';
import type {
  Call,
  Candidate,
  EnrollRequest,
  EnrollResult,
  WithdrawRequest,
} from '../candidates.js';
import {
  type AcquireRequest,
  type AcquireResult,
  type CallOptions,
  type Coordinator,
  type CoordinatorPromises,
  type CoordinatorRecipe,
  type EndResult,
  type HandoffRequest,
  longestTtlMs,
  type ReleaseRequest,
  type RenewRequest,
  type RenewResult,
  type StoredDocument,
  type WriteDocumentResult,
} from '../contract.js';
import type { HistoryEntry } from '../history.js';
import type { Holder } from '../holder.js';
import { validateName } from '../names.js';
import type { LeaseRecord } from '../record.js';
import { parseCall } from '../redis/index.js';
import {
  checkAcquires,
  checkAct,
  checkDocument,
  checkEnrollments,
  checkGroup,
  checkHandoffs,
  checkHolder,
  checkNames,
  checkReleases,
  checkRenewals,
  checkRevocation,
  checkTimeout,
  checkWithdrawals,
  copies,
} from '../requests.js';
import { Acts } from './acts.js';
import { Candidates } from './candidates.js';
import { Documents } from './documents.js';
import { endLeases } from './ends.js';
import { Grants } from './grants/index.js';
import { hear } from './hints.js';
import { QuorumKeys } from './keys.js';
import {
  largestNodeTimeoutMs,
  nodeTimeoutFor,
  smallestNodeTimeoutMs,
  usualLargestTtlMs,
  usualNodeTimeoutMs,
} from './limits.js';
import { QuorumNode } from './node.js';
import { quorumPromises } from './promises.js';
import { Quorum } from './quorum.js';
import { Reads } from './reads.js';
import { Renewals } from './renewals.js';
import { nodeUrls } from './url.js';

export interface RedisQuorumCoordinatorOptions {
  /**
   * Coordinators of one namespace exclude each other; those of different ones do not meet. Written like a name of a
   * lease. Default `default`.
   */
  readonly namespace?: string;
  /** Clock, timers and randomness. Default: those of this process. */
  readonly runtime?: Runtime;
  /** How long one attempt to connect to a node, log in and check it may take. Default 2,000 ms. */
  readonly connectTimeoutMs?: number;
  /**
   * How long one node may take for one request: 100 to 1,000 ms. Default: a tenth of the ttl in question, but 100 to 200 ms.
   * A node that takes longer has no vote in that request, and its connection is given up. Raise it for nodes that are far
   * away; a ttl should be ten times as long.
   */
  readonly nodeTimeoutMs?: number;
  /**
   * The largest ttl and lock-delay that are granted here: 1 s to 24 h, default 10 minutes. When a majority of the nodes has
   * lost its memory, nothing is granted for twice as long. All clients of a namespace need the same; another one is refused
   * with `StoreMisconfiguredError`.
   */
  readonly largestTtlMs?: number;
}

export interface RedisQuorumCoordinatorEvents {
  /** Connected to a node, and checked it. */
  connected: { readonly address: string };
  disconnected: { readonly address: string; readonly reason: string };
  /** Something a person should know that stops nothing. */
  warning: { readonly address: string; readonly message: string };
  /** A node has no vote any more: it lost its memory, or is a member of another quorum. */
  'node-out': { readonly address: string; readonly reason: string };
  /** A node got back from the others what it had lost, and has a vote again. */
  'node-reseeded': { readonly address: string };
  /** A record was cut down to its own ttl at a node: its TTL had been removed, or the node's clock stepped back. */
  repaired: { readonly name: string };
  /** Something under a name of ours is not ours. It is left alone, and the name is granted to nobody. */
  corrupt: { readonly name: string; readonly detail: string };
}

/** A coordinator that also reports what happens to its nodes and its records. */
export interface RedisQuorumCoordinator
  extends Coordinator,
    EventSource<RedisQuorumCoordinatorEvents> {}

const eventNames: Known<RedisQuorumCoordinatorEvents> = {
  ...{ connected: true, disconnected: true, warning: true, repaired: true, corrupt: true },
  ...{ 'node-out': true, 'node-reseeded': true },
};

const optionKeys: Known<RedisQuorumCoordinatorOptions> = {
  namespace: true,
  runtime: true,
  connectTimeoutMs: true,
  nodeTimeoutMs: true,
  largestTtlMs: true,
};

/**
 * A coordinator on three or more independent Redis masters (7.0 or later), decided by a majority of them. Needs the
 * package `ioredis`.
 *
 * Exclusive while a majority of the masters keep their data and no clock of theirs jumps; a minority may be dead, hang, be
 * stepped or lose everything. Each has to be durable (`appendonly yes`, `appendfsync always`), and none a replica or node of
 * one cluster: what two of them have in common fails together. The holder's time counts from before the first request and
 * allows for clocks that differ by a hundredth. A lease alone is never mutual exclusion: put a fence at what the holder
 * writes to.
 *
 * It connects at the first call. The first set-up of a namespace needs all nodes. A node that lost its memory has no vote
 * until it got it back from the others, which happens by itself.
 *
 * @param urlOrUrls `redis+quorum://[user:password@]host[:port],host[:port],.../database`, or a list of `redis://` URLs. The
 * same nodes for every client.
 * @throws {OptionError} if the URLs, the namespace or an option cannot be used.
 */
export function redisQuorumCoordinator(
  urlOrUrls: string | URL | readonly (string | URL)[],
  options: RedisQuorumCoordinatorOptions = {},
): RedisQuorumCoordinator {
  return new QuorumCoordinator(urlOrUrls, options);
}

class QuorumCoordinator implements RedisQuorumCoordinator {
  readonly promises: CoordinatorPromises;
  readonly #recipe: CoordinatorRecipe;
  readonly #events = new Emitter<RedisQuorumCoordinatorEvents>(eventNames);
  readonly #losses = new Emitter<{ lost: undefined }>({ lost: true });
  /** As it was asked for. */
  readonly #givenNodeTimeoutMs: number | undefined;
  readonly #nodeTimeoutMs: number;
  readonly #quorum: Quorum;
  readonly #grants: Grants;
  readonly #renewals: Renewals;
  readonly #reads: Reads;
  readonly #candidates: Candidates;
  readonly #acts: Acts;
  readonly #documents: Documents;
  readonly #connected = new Set<QuorumNode>();

  constructor(
    urlOrUrls: string | URL | readonly (string | URL)[],
    options: RedisQuorumCoordinatorOptions,
  ) {
    const { namespace = 'default', connectTimeoutMs } = requireKnown(
      'options',
      options,
      optionKeys,
    );
    const runtime = requireRuntime(options.runtime);
    const urls = nodeUrls(urlOrUrls);
    const { nodeTimeoutMs = usualNodeTimeoutMs, largestTtlMs = usualLargestTtlMs } = options;
    checkRange('nodeTimeoutMs', nodeTimeoutMs, smallestNodeTimeoutMs, largestNodeTimeoutMs);
    checkRange('largestTtlMs', largestTtlMs, 1_000, longestTtlMs);
    const keys = new QuorumKeys(namespace);
    const nodes = urls.map((url, number) => new QuorumNode(number, url, runtime, connectTimeoutMs));
    this.promises = quorumPromises(largestTtlMs);
    this.#givenNodeTimeoutMs = options.nodeTimeoutMs;
    this.#nodeTimeoutMs = nodeTimeoutMs;
    this.#quorum = new Quorum(nodes, keys, runtime, largestTtlMs, {
      nodeOut: (address, reason) => this.#events.emit('node-out', { address, reason }),
      nodeReseeded: (address) => this.#events.emit('node-reseeded', { address }),
    });
    for (const node of nodes) this.#follow(node);
    const repaired = (name: string) => this.#events.emit('repaired', { name });
    const corrupt = (name: string, detail: string) =>
      this.#events.emit('corrupt', { name, detail });
    this.#acts = new Acts(this.#quorum, nodeTimeoutMs);
    this.#grants = new Grants(this.#quorum, {
      repaired,
      corrupt,
      loneSuspension: (name) => this.#acts.mendSuspension(name),
    });
    this.#renewals = new Renewals(this.#quorum);
    this.#reads = new Reads(this.#quorum, nodeTimeoutMs, (name) =>
      corrupt(name, 'a value that is no record'),
    );
    this.#candidates = new Candidates(this.#quorum, nodeTimeoutMs, repaired);
    this.#documents = new Documents(this.#quorum, nodeTimeoutMs);
    this.#recipe = recipeOf(urls, { ...options, namespace });
  }

  /** Renewals go over a majority: as long as that is connected, no lease is in doubt. */
  #follow(node: QuorumNode): void {
    const { session } = node;
    session.on('connected', ({ address }) => {
      this.#connected.add(node);
      this.#events.emit('connected', { address });
    });
    session.on('disconnected', (event) => {
      const hadMajority = this.#connected.size >= this.#quorum.majority;
      this.#connected.delete(node);
      this.#events.emit('disconnected', event);
      if (hadMajority && this.#connected.size < this.#quorum.majority)
        this.#losses.emit('lost', undefined);
    });
    session.on('warning', (event) => this.#events.emit('warning', event));
  }

  /** No property of its own: it holds the credentials, and whoever prints a coordinator must not print those. */
  get recipe(): CoordinatorRecipe {
    return this.#recipe;
  }

  on<Name extends keyof RedisQuorumCoordinatorEvents>(
    name: Name,
    listener: (event: RedisQuorumCoordinatorEvents[Name]) => void,
  ): Unsubscribe {
    return this.#events.on(name, listener);
  }

  async acquire(requests: readonly AcquireRequest[], call: CallOptions): Promise<AcquireResult[]> {
    const checked = copies(checkAcquires(requests, this.promises));
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return [];
    return this.#grants.acquire(checked, timeoutMs, this.#timeoutFor(checked));
  }

  async renew(requests: readonly RenewRequest[], call: CallOptions): Promise<RenewResult[]> {
    const checked = copies(checkRenewals(requests, this.promises));
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return [];
    return this.#renewals.renew(checked, timeoutMs, this.#timeoutFor(checked));
  }

  #timeoutFor(requests: readonly { readonly ttlMs: number }[]): number {
    const shortestMs = requests.reduce(
      (shortest, { ttlMs }) => Math.min(shortest, ttlMs),
      Number.POSITIVE_INFINITY,
    );
    return nodeTimeoutFor(shortestMs, this.#givenNodeTimeoutMs);
  }

  async release(requests: readonly ReleaseRequest[], call: CallOptions): Promise<EndResult[]> {
    return this.#end(copies(checkReleases(requests)), checkTimeout(call));
  }

  async handoff(requests: readonly HandoffRequest[], call: CallOptions): Promise<EndResult[]> {
    return this.#end(copies(checkHandoffs(requests, this.promises)), checkTimeout(call));
  }

  async #end(
    requests: readonly (ReleaseRequest | HandoffRequest)[],
    timeoutMs: number,
  ): Promise<EndResult[]> {
    if (requests.length === 0) return [];
    return endLeases(this.#quorum, requests, timeoutMs, this.#nodeTimeoutMs);
  }

  async read(names: readonly string[], call: CallOptions): Promise<(LeaseRecord | undefined)[]> {
    const checked = checkNames(names);
    return this.#reads.read(checked, checkTimeout(call));
  }

  async list(group: string, call: CallOptions): Promise<LeaseRecord[]> {
    return this.#reads.list(checkGroup(group), checkTimeout(call));
  }

  watch(group: string, wake: (name: string | undefined) => void): Unsubscribe {
    const channel = this.#quorum.keys.wake(checkGroup(group));
    this.#quorum.throwIfClosed();
    return hear(this.#quorum, channel, isolated('watch', wake));
  }

  onConnectionLost(lost: () => void): Unsubscribe {
    this.#quorum.throwIfClosed();
    return this.#losses.on('lost', lost);
  }

  async enroll(requests: readonly EnrollRequest[], call: CallOptions): Promise<EnrollResult[]> {
    const checked = copies(checkEnrollments(requests));
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return [];
    return this.#candidates.enroll(checked, timeoutMs);
  }

  async withdraw(requests: readonly WithdrawRequest[], call: CallOptions): Promise<void> {
    const checked = copies(checkWithdrawals(requests));
    const timeoutMs = checkTimeout(call);
    if (checked.length > 0) await this.#candidates.withdraw(checked, timeoutMs);
  }

  async candidates(name: string, call: CallOptions): Promise<Candidate[]> {
    return this.#candidates.list(validateName(name), checkTimeout(call));
  }

  onCalled(holder: Holder, called: (call: Call) => void): Unsubscribe {
    checkHolder(holder);
    this.#quorum.throwIfClosed();
    const told = isolated('onCalled', called);
    return hear(this.#quorum, `${this.#quorum.keys.calls}${holder.digest}`, (message) => {
      const call = message === undefined ? { name: undefined, position: 0 } : parseCall(message);
      if (call !== undefined) told(call);
    });
  }

  async revoke(
    name: string,
    request: RevokeRequest,
    call: CallOptions,
  ): Promise<LeaseRecord | undefined> {
    const checked = { ...checkRevocation(request) };
    return this.#acts.revoke(validateName(name), checked, checkTimeout(call));
  }

  async suspend(name: string, act: Act, call: CallOptions): Promise<LeaseRecord> {
    const checked = { ...checkAct(act) };
    return this.#acts.suspend(validateName(name), checked, checkTimeout(call));
  }

  async resume(name: string, act: Act, call: CallOptions): Promise<boolean> {
    const checked = { ...checkAct(act) };
    return this.#acts.resume(validateName(name), checked, checkTimeout(call));
  }

  async history(name: string, call: CallOptions): Promise<HistoryEntry[]> {
    return this.#acts.history(validateName(name), checkTimeout(call));
  }

  async readDocument(name: string, call: CallOptions): Promise<StoredDocument | undefined> {
    return this.#documents.read(validateName(name), checkTimeout(call));
  }

  async writeDocument(
    name: string,
    text: string,
    expectedVersion: number,
    call: CallOptions,
  ): Promise<WriteDocumentResult> {
    validateName(name);
    checkDocument(text, expectedVersion);
    return this.#documents.write(name, text, expectedVersion, checkTimeout(call));
  }

  async close(): Promise<void> {
    await this.#quorum.close();
    this.#events.removeAll();
    this.#losses.removeAll();
  }
}

function checkRange(option: string, value: number, smallest: number, largest: number): void {
  if (typeof value === 'number' && value >= smallest && value <= largest) return;
  throw new OptionError(
    option,
    value,
    'is out of range',
    `use ${smallest} to ${largest} milliseconds`,
  );
}

/** All of it can be sent to a worker thread; the runtime cannot, and there is that thread's own. */
function recipeOf(
  urls: readonly string[],
  { runtime: _, ...options }: RedisQuorumCoordinatorOptions,
): CoordinatorRecipe {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const args = [urls, Object.fromEntries(given)];
  return { module: import.meta.url, factory: 'redisQuorumCoordinator', args };
}
