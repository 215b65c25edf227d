import {
  type DuplicableRedisClient,
  type RedisConnectionEvents,
  RedisSession,
} from '../../drivers/redis/index.js';
import { requireObject } from '../../errors/checks.js';
import { StoreRefusedError, tooLateCode } from '../../errors/index.js';
import { Emitter, type EventSource, type Unsubscribe } from '../../events/index.js';
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
import { redisPromises } from './promises.js';
import { RedisReads } from './reads.js';
import { RenewalLocator, renewCall } from './renewals.js';
import { acquireScript, endScript, renewScript } from './scripts/index.js';

export interface RedisCoordinatorOptions {
  /**
   * Coordinators of one namespace exclude each other; those of different ones do not meet. Written like a name of a
   * lease. Default `default`.
   */
  readonly namespace?: string;
  /** Clock, timers and randomness. Default: those of this process. */
  readonly runtime?: Runtime;
  /** How long one attempt to connect, log in and check the server may take. Default 2,000 ms. */
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

/**
 * A coordinator on one Redis server (7.0 or later; 7.0.15 is what the tests run on). Needs the package `ioredis`.
 *
 * Exclusive while the server keeps its data and its clock does not jump; otherwise two holders may overlap for a while,
 * with different terms. A lease alone is never mutual exclusion: put a fence at what the holder writes to.
 *
 * It connects at the first call. A server that is a replica, or may evict keys, is refused with
 * `StoreMisconfiguredError`. Calls may run concurrently and share one connection; a call that gets no answer within its
 * timeout gives that connection up, and what else was in flight on it has an unknown outcome as well.
 *
 * @param urlOrClient `redis://` or `rediss://` URL, or an ioredis client, which is only duplicated: its own connection
 * is neither used nor closed.
 * @throws {OptionError} if the URL, the client or the namespace cannot be used.
 */
export function redisCoordinator(
  urlOrClient: string | URL | DuplicableRedisClient,
  options: RedisCoordinatorOptions = {},
): RedisCoordinator {
  return new SingleRedisCoordinator(urlOrClient, options);
}

class SingleRedisCoordinator implements RedisCoordinator {
  readonly promises = redisPromises;
  readonly #recipe: CoordinatorRecipe | undefined;
  readonly #keys: RedisKeys;
  readonly #renewals: RenewalLocator;
  readonly #session: RedisSession;
  readonly #runtime: Runtime;
  readonly #events = new Emitter<RedisCoordinatorEvents>();
  readonly #reads: RedisReads;
  readonly #candidates: RedisCandidates;
  readonly #acts: RedisActs;
  readonly #documents: RedisDocuments;

  constructor(urlOrClient: string | URL | DuplicableRedisClient, options: RedisCoordinatorOptions) {
    const { namespace = 'default', connectTimeoutMs } = requireObject('options', options);
    const runtime = requireRuntime(options.runtime);
    this.#keys = new RedisKeys(namespace);
    this.#renewals = new RenewalLocator(this.#keys);
    const what = 'the Redis coordinator';
    this.#session = new RedisSession(what, urlOrClient, { runtime, connectTimeoutMs });
    this.#runtime = runtime;
    for (const name of ['connected', 'disconnected', 'warning'] as const)
      this.#session.on(name, (event) => this.#events.emit(name, event));
    const repaired = (name: string) => this.#events.emit('repaired', { name });
    this.#reads = new RedisReads(this.#session, this.#keys, {
      foreign: (name) =>
        this.#events.emit('corrupt', { name, detail: 'a value that is no record' }),
      repaired,
    });
    this.#candidates = new RedisCandidates(this.#session, this.#keys, repaired);
    this.#acts = new RedisActs(this.#session, this.#keys);
    this.#documents = new RedisDocuments(this.#session, this.#keys);
    if (typeof urlOrClient === 'string' || urlOrClient instanceof URL)
      this.#recipe = recipeOf(String(urlOrClient), namespace, connectTimeoutMs);
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
    let reply: unknown;
    try {
      reply = await this.#session.connection.run(acquireScript, keys, args, timeoutMs);
    } catch (error) {
      if (!(error instanceof StoreRefusedError && error.storeCode === tooLateCode)) throw error;
      return checked.map(() => ({ outcome: 'too-late' }));
    }
    const answers = answerAcquire(this.#keys, checked, reply);
    for (const [index, { result, repaired }] of answers.entries())
      this.#acquired(checked[index] as AcquireRequest, result, repaired);
    return answers.map(({ result }) => result);
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
    const reply = await this.#session.connection.run(renewScript, keys, args, timeoutMs);
    const results = answerRenew(checked, reply);
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
    const reply = await this.#session.connection.run(endScript, keys, args, timeoutMs);
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
    return this.#session.subscriber.subscribe(this.#keys.wake(checkGroup(group)), wake);
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
  namespace: string,
  connectTimeoutMs: number | undefined,
): CoordinatorRecipe {
  const options = connectTimeoutMs === undefined ? { namespace } : { namespace, connectTimeoutMs };
  return { module: import.meta.url, factory: 'redisCoordinator', args: [url, options] };
}
