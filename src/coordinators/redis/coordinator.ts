import {
  type DuplicableRedisClient,
  type RedisConnectionEvents,
  RedisSession,
  type RedisSourceOptions,
  type Written,
} from '../../drivers/redis/index.js';
import { type Known, requireKnown } from '../../errors/checks.js';
import { StoreRefusedError, TenureError, tooLateCode } from '../../errors/index.js';
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
import type {
  AcquireRequest,
  AcquireResult,
  CallOptions,
  Coordinator,
  CoordinatorPromises,
  CoordinatorRecipe,
  EndResult,
  HandoffRequest,
  ReleaseRequest,
  RenewRequest,
  RenewResult,
  StoredDocument,
  WriteDocumentResult,
} from '../contract.js';
import type { HistoryEntry } from '../history.js';
import type { Holder } from '../holder.js';
import type { LeaseRecord } from '../record.js';
import {
  checkAcquires,
  checkGroup,
  checkHandoffs,
  checkReleases,
  checkRenewals,
  checkTimeout,
} from '../requests.js';
import { RedisActs } from './acts.js';
import { answerAcquire, answerEnd, answerRenew } from './answers.js';
import { acquireCall, endCall } from './arguments.js';
import { RedisCandidates } from './candidates.js';
import { RedisDocuments } from './documents.js';
import { notIndexed, type Place, RedisKeys } from './keys.js';
import { indexRefreshTtls } from './limits.js';
import { promisesOf } from './promises.js';
import { RedisReads } from './reads.js';
import { RenewalLocator, renewCall } from './renewals.js';
import { acquireScript, endScript, renewScript } from './scripts/index.js';
import { DecidingServer } from './server.js';
import { checkReplicas, notConfirmed, RedisWrites, type ReplicaOptions } from './writes.js';

export interface RedisCoordinatorOptions extends RedisSourceOptions, ReplicaOptions {
  /**
   * Coordinators of one namespace exclude each other; those of different ones do not meet. Written like a name of a
   * lease. Default `default`.
   */
  readonly namespace?: string;
  /** Clock, timers and randomness. Default: those of this process. */
  readonly runtime?: Runtime;
  /** How long one attempt to find the server, connect, log in and check it may take. Default 2,000 ms. */
  readonly connectTimeoutMs?: number;
}

export interface RedisCoordinatorEvents extends RedisConnectionEvents {
  /** A record was cut down to its own ttl: its TTL had been removed, or the server's clock stepped back. */
  repaired: { readonly name: string };
  /** Something under a name of ours is not ours. It is left alone, and the name is granted to nobody. */
  corrupt: { readonly name: string; readonly detail: string };
}

/** A coordinator that also reports what happens to its connection and its records. */
export interface RedisCoordinator extends Coordinator, EventSource<RedisCoordinatorEvents> {}

const eventNames: Known<RedisCoordinatorEvents> = {
  ...{ connected: true, disconnected: true, warning: true, repaired: true, corrupt: true },
};

const optionKeys: Known<RedisCoordinatorOptions> = {
  namespace: true,
  runtime: true,
  connectTimeoutMs: true,
  replicas: true,
  replicaTimeoutMs: true,
  sentinelUsername: true,
  sentinelPassword: true,
  nodeAddressMap: true,
};

/**
 * A coordinator on Redis (7.0 or later; 7.0.15 is what the tests run on): one server, the master that sentinels watch, or
 * the node of a cluster that owns the slot of the namespace. URLs need the package `ioredis`.
 *
 * Exclusive while the server keeps its data and its clock does not jump; otherwise two holders may overlap for a while,
 * with different terms. A failover may forget what no replica had yet: {@link ReplicaOptions.replicas} makes that
 * unlikely, and nothing makes it impossible. A lease alone is never mutual exclusion: put a fence at what the holder writes
 * to.
 *
 * It connects at the first call. A server that is a replica, may evict keys, or is a node of a quorum for this namespace, is
 * refused with `StoreMisconfiguredError`; where others say who the master is, they are asked again instead. Calls may run concurrently
 * and share one connection; a call that gets no answer within its timeout gives that connection up, and what else was in
 * flight on it has an unknown outcome as well.
 *
 * @param urlOrClient a URL: `redis://host:port/database`, `redis+sentinel://host:port,host:port/master-name/database`, or
 * `redis+cluster://host:port,host:port`, each with `user:password@` before the hosts if the servers need it, and `rediss`
 * for TLS. Or a client of ioredis (a server, with sentinels, a cluster) or node-redis (a server, or a cluster that is
 * connected), 5 or later. Of a client only the options are used; its own connections are neither used, changed nor closed.
 * Those that tenure opens never reconnect, queue or resend by themselves, have a deadline of tenure's for every command,
 * RESP2 and no key prefix, whatever the client's options say.
 * @throws {OptionError} if the URL, the client or an option cannot be used.
 */
export function redisCoordinator(
  urlOrClient: string | URL | DuplicableRedisClient,
  options: RedisCoordinatorOptions = {},
): RedisCoordinator {
  return new OneMasterCoordinator(urlOrClient, options);
}

/** The `storeCode` of an acquisition that was given back because too few replicas had it. */
const notReplicatedCode = 'NOT_REPLICATED';

class OneMasterCoordinator implements RedisCoordinator {
  readonly promises: CoordinatorPromises;
  readonly #recipe: CoordinatorRecipe | undefined;
  readonly #keys: RedisKeys;
  readonly #renewals: RenewalLocator;
  readonly #session: RedisSession;
  readonly #server: DecidingServer;
  readonly #writes: RedisWrites;
  readonly #runtime: Runtime;
  readonly #events = new Emitter<RedisCoordinatorEvents>(eventNames);
  readonly #reads: RedisReads;
  readonly #candidates: RedisCandidates;
  readonly #acts: RedisActs;
  readonly #documents: RedisDocuments;

  constructor(urlOrClient: string | URL | DuplicableRedisClient, options: RedisCoordinatorOptions) {
    const { namespace = 'default', connectTimeoutMs } = requireKnown(
      'options',
      options,
      optionKeys,
    );
    const runtime = requireRuntime(options.runtime);
    this.#keys = new RedisKeys(namespace);
    this.#renewals = new RenewalLocator(this.#keys);
    const what = 'the Redis coordinator';
    const confirmation = checkReplicas(options);
    this.#session = new RedisSession(what, urlOrClient, {
      ...options,
      runtime,
      connectTimeoutMs,
      slotKey: this.#keys.term,
    });
    this.#server = new DecidingServer(this.#session, this.#keys);
    this.#writes = new RedisWrites({ connection: this.#server }, confirmation);
    this.promises = promisesOf(this.#session.topology, confirmation?.replicas ?? 0);
    this.#runtime = runtime;
    for (const name of ['connected', 'disconnected', 'warning'] as const)
      this.#session.on(name, (event) => this.#events.emit(name, event));
    const repaired = (name: string) => this.#events.emit('repaired', { name });
    this.#reads = new RedisReads(this.#server, this.#keys, {
      foreign: (name) =>
        this.#events.emit('corrupt', { name, detail: 'a value that is no record' }),
      repaired,
    });
    this.#candidates = new RedisCandidates(this.#server, this.#keys, repaired);
    this.#acts = new RedisActs(this.#server, this.#writes, this.#keys);
    this.#documents = new RedisDocuments(this.#server, this.#writes, this.#keys);
    if (typeof urlOrClient === 'string' || urlOrClient instanceof URL)
      this.#recipe = recipeOf(String(urlOrClient), { ...options, namespace });
  }

  /** No property of its own: it holds the credentials, and whoever prints a coordinator must not print those. */
  get recipe(): CoordinatorRecipe | undefined {
    return this.#recipe;
  }

  on<Name extends keyof RedisCoordinatorEvents>(
    name: Name,
    listener: (event: RedisCoordinatorEvents[Name]) => void,
  ): Unsubscribe {
    return this.#events.on(name, listener);
  }

  async acquire(requests: readonly AcquireRequest[], call: CallOptions): Promise<AcquireResult[]> {
    const checked = checkAcquires(requests, this.promises);
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return [];
    const { keys, args } = acquireCall(this.#keys, checked);
    const leftMs = this.#session.connection.budget(timeoutMs);
    let reply: Written;
    try {
      reply = await this.#writes.write(acquireScript, keys, args, timeoutMs);
    } catch (error) {
      if (!(error instanceof StoreRefusedError && error.storeCode === tooLateCode)) throw error;
      return checked.map(() => ({ outcome: 'too-late' }));
    }
    const answers = answerAcquire(this.#keys, checked, reply.value);
    for (const [index, { result, repaired }] of answers.entries())
      this.#acquired(checked[index] as AcquireRequest, result, repaired);
    const granted = checked.filter((_, index) => answers[index]?.result.outcome === 'granted');
    const missing = granted.length === 0 ? undefined : await reply.shortfall;
    if (missing !== undefined) await this.#takeBack(granted, missing, leftMs());
    return answers.map(({ result }) => result);
  }

  /** A grant that too few replicas have was none: nobody may learn its term but who reads the history. */
  async #takeBack(
    granted: readonly AcquireRequest[],
    missing: string,
    timeoutMs: number,
  ): Promise<never> {
    const releases = granted.map(({ name, holder, attempt }) => {
      return { name, holder, attempt, reason: 'not-replicated' };
    });
    try {
      await this.#end(releases, timeoutMs);
    } catch (error) {
      if (error instanceof TenureError) throw notConfirmed('acquire', missing);
      throw error;
    }
    throw new StoreRefusedError(
      notReplicatedCode,
      `what was acquired was given back, since a failover might have forgotten it: ${missing}. Bring the replicas back, or lower \`replicas\`.`,
    );
  }

  #acquired({ name, ttlMs }: AcquireRequest, result: AcquireResult, repaired: boolean): void {
    if (result.outcome === 'granted') this.#indexed(this.#keys.place(name), ttlMs);
    if (result.outcome === 'corrupt') this.#events.emit('corrupt', { name, detail: result.detail });
    if (repaired) this.#events.emit('repaired', { name });
  }

  #indexed(place: Place, ttlMs: number): void {
    place.indexFreshUntilMs = this.#nowMs() + ttlMs * indexRefreshTtls;
  }

  #nowMs(): number {
    return this.#runtime.now().monotonicMs;
  }

  async renew(requests: readonly RenewRequest[], call: CallOptions): Promise<RenewResult[]> {
    const checked = checkRenewals(requests, this.promises);
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return [];
    const { keys, args, places, refreshed } = renewCall(
      this.#renewals.locate(checked),
      checked,
      this.#nowMs(),
    );
    const { value: reply, shortfall } = await this.#writes.write(
      renewScript,
      keys,
      args,
      timeoutMs,
    );
    const results = answerRenew(checked, reply);
    if (results.some(({ outcome }) => outcome === 'renewed')) {
      const missing = await shortfall;
      if (missing !== undefined) throw notConfirmed('renew', missing);
    }
    if (refreshed.size === 0 && (reply as unknown[]).length === 0) return results;
    for (const [index, place] of places.entries()) {
      if (results[index]?.outcome !== 'renewed') place.indexFreshUntilMs = notIndexed;
      else if (refreshed.has(place)) this.#indexed(place, checked[index]?.ttlMs ?? 0);
    }
    return results;
  }

  async release(requests: readonly ReleaseRequest[], call: CallOptions): Promise<EndResult[]> {
    return this.#end(checkReleases(requests), checkTimeout(call));
  }

  async handoff(requests: readonly HandoffRequest[], call: CallOptions): Promise<EndResult[]> {
    return this.#end(checkHandoffs(requests, this.promises), checkTimeout(call));
  }

  async #end(
    requests: readonly (ReleaseRequest | HandoffRequest)[],
    timeoutMs: number,
  ): Promise<EndResult[]> {
    if (requests.length === 0) return [];
    const { keys, args } = endCall(this.#keys, requests);
    const reply = await this.#server.run(endScript, keys, args, timeoutMs);
    for (const { name } of requests) this.#keys.place(name).indexFreshUntilMs = notIndexed;
    return answerEnd(reply);
  }

  read(names: readonly string[], call: CallOptions): Promise<(LeaseRecord | undefined)[]> {
    return this.#reads.read(names, call);
  }

  list(group: string, call: CallOptions): Promise<LeaseRecord[]> {
    return this.#reads.list(group, call);
  }

  watch(group: string, wake: (name: string | undefined) => void): Unsubscribe {
    this.#session.throwIfClosed();
    return this.#session.subscriber.subscribe(
      this.#keys.wake(checkGroup(group)),
      isolated('watch', wake),
    );
  }

  onConnectionLost(lost: () => void): Unsubscribe {
    this.#session.throwIfClosed();
    return this.#events.on('disconnected', lost);
  }

  enroll(requests: readonly EnrollRequest[], call: CallOptions): Promise<EnrollResult[]> {
    return this.#candidates.enroll(requests, call);
  }

  withdraw(requests: readonly WithdrawRequest[], call: CallOptions): Promise<void> {
    return this.#candidates.withdraw(requests, call);
  }

  candidates(name: string, call: CallOptions): Promise<Candidate[]> {
    return this.#candidates.list(name, call);
  }

  onCalled(holder: Holder, called: (call: Call) => void): Unsubscribe {
    return this.#candidates.onCalled(holder, called);
  }

  revoke(
    name: string,
    request: RevokeRequest,
    call: CallOptions,
  ): Promise<LeaseRecord | undefined> {
    return this.#acts.revoke(name, request, call);
  }

  suspend(name: string, act: Act, call: CallOptions): Promise<LeaseRecord> {
    return this.#acts.suspend(name, act, call);
  }

  resume(name: string, act: Act, call: CallOptions): Promise<boolean> {
    return this.#acts.resume(name, act, call);
  }

  history(name: string, call: CallOptions): Promise<HistoryEntry[]> {
    return this.#acts.history(name, call);
  }

  readDocument(name: string, call: CallOptions): Promise<StoredDocument | undefined> {
    return this.#documents.read(name, call);
  }

  writeDocument(
    name: string,
    text: string,
    expectedVersion: number,
    call: CallOptions,
  ): Promise<WriteDocumentResult> {
    return this.#documents.write(name, text, expectedVersion, call);
  }

  async close(): Promise<void> {
    await this.#session.close();
    this.#events.removeAll();
  }
}

/** Both arguments can be sent to a worker thread; the runtime cannot, and there is that thread's own. */
function recipeOf(
  url: string,
  { runtime: _, ...options }: RedisCoordinatorOptions,
): CoordinatorRecipe {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const args = [url, Object.fromEntries(given)];
  return { module: import.meta.url, factory: 'redisCoordinator', args };
}
