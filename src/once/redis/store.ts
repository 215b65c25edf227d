import type { CallOptions } from '../../coordinators/index.js';
import { encodeName } from '../../coordinators/index.js';
import { checkReplicas, encodeWords, RedisWrites } from '../../coordinators/redis/index.js';
import {
  type DuplicableRedisClient,
  type RedisConnectionEvents,
  RedisSession,
  type RedisSourceOptions,
} from '../../drivers/redis/index.js';
import { type Known, requireKnown } from '../../errors/checks.js';
import type { EventSource, Unsubscribe } from '../../events/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type {
  OnceBeginRequest,
  OnceBeginResult,
  OnceEnd,
  OnceEndRequest,
  OnceEndResult,
  OncePromises,
  OnceSettleRequest,
  OnceSettleResult,
  OnceStore,
  OnceUnknownOptions,
} from '../contract.js';
import type { OnceRecord } from '../records.js';
import {
  checkBegin,
  checkCall,
  checkEnd,
  checkLimit,
  checkSettle,
  checkUnknownOptions,
  validateKey,
} from '../requests.js';
import { titleOf } from '../titles.js';
import { OnceKeys } from './keys.js';
import { corrupt, parseRecord } from './replies.js';
import { beginScript, endScript, readScript, settleScript, unknownScript } from './scripts.js';

export interface RedisOnceOptions extends RedisSourceOptions {
  /** Stores of one namespace on one server share their keys. Written like a name of a lease. Default `default`. */
  readonly namespace?: string;
  /**
   * How many replicas must have what was written before it counts: 0 (the default) to 64. With fewer an attempt does not
   * begin; an end is said again.
   */
  readonly replicas?: number;
  /** How long the replicas may take, from 1 ms to a minute; never more than half of a call. Default 500 ms. */
  readonly replicaTimeoutMs?: number;
  /** How long one attempt to find the server, connect, log in and check it may take. Default 2,000 ms. */
  readonly connectTimeoutMs?: number;
  /** Clock and timers; for tests. Default: those of this process. */
  readonly runtime?: Runtime;
}

export interface RedisOnce extends OnceStore, EventSource<RedisConnectionEvents> {}

const optionKeys: Known<RedisOnceOptions> = {
  namespace: true,
  replicas: true,
  replicaTimeoutMs: true,
  connectTimeoutMs: true,
  runtime: true,
  sentinelUsername: true,
  sentinelPassword: true,
  nodeAddressMap: true,
};

/**
 * Keys in Redis (7.0 or later), with a TTL each. A server that may evict keys is refused.
 *
 * They are kept as the server keeps its data: one that restarts from a snapshot, or a failover to a replica that had not
 * heard of it, forgets that an effect was begun or had, and it is called again. For payments prefer PostgreSQL; or keep an
 * append-only file with `appendfsync always`, and wait for `replicas`.
 *
 * @param urlOrClient as for `redisCoordinator`. Of a client only the options are used.
 * @throws {OptionError} if the URL, the client or an option cannot be used. Nothing is connected yet.
 */
export function redisOnce(
  urlOrClient: string | URL | DuplicableRedisClient,
  options: RedisOnceOptions = {},
): RedisOnce {
  return new OnceInRedis(urlOrClient, requireKnown('options', options, optionKeys));
}

const writingScripts = { begin: beginScript, end: endScript, settle: settleScript };

type Reply = readonly [verdict: string, now: string, fields: string[]];

class OnceInRedis implements RedisOnce {
  readonly promises: OncePromises = {
    store: 'redis',
    durability: 'process',
    limits:
      'Keys survive a restart or a failover as far as the server keeps its data through it; what it forgets is begun anew. While its clock jumps forward, an attempt that still runs counts as unknown.',
  };
  readonly #keys: OnceKeys;
  readonly #session: RedisSession;
  readonly #writes: RedisWrites;

  constructor(urlOrClient: string | URL | DuplicableRedisClient, options: RedisOnceOptions) {
    const { namespace = 'default' } = options;
    const runtime = requireRuntime(options.runtime);
    this.#keys = new OnceKeys(namespace);
    const confirmation = checkReplicas(options);
    const slotKey = this.#keys.hashTag;
    this.#session = new RedisSession('this store of keys', urlOrClient, {
      ...{ ...options, runtime, slotKey },
    });
    this.#writes = new RedisWrites(this.#session, confirmation);
  }

  on<Name extends keyof RedisConnectionEvents>(
    name: Name,
    listener: (event: RedisConnectionEvents[Name]) => void,
  ): Unsubscribe {
    return this.#session.on(name, listener);
  }

  async begin(request: OnceBeginRequest, call: CallOptions): Promise<OnceBeginResult> {
    const { key, nonce, startedBy, timeoutMs, keepUnknownMs, repeat } = checkBegin(request);
    const args = [
      ...[nonce, startedBy, timeoutMs, keepUnknownMs ?? ''],
      ...[repeat?.attempt ?? '', repeat?.startedAtMs ?? ''],
      repeat === undefined ? '' : encodeWords(repeat),
    ];
    const { verdict, record } = await this.#write('begin', key, [key, ...args], call);
    return { outcome: verdict as OnceBeginResult['outcome'], record: record as OnceRecord };
  }

  async end(request: OnceEndRequest, call: CallOptions): Promise<OnceEndResult> {
    const { key, nonce, end } = checkEnd(request);
    const args = [nonce, ...endArgs(end)];
    const { verdict, record } = await this.#write('end', key, args, call);
    return { outcome: verdict, record } as OnceEndResult;
  }

  async settle(request: OnceSettleRequest, call: CallOptions): Promise<OnceSettleResult> {
    const { key, nonce, of, end, by, reason } = checkSettle(request);
    const detail = end.kind === 'not-applied' ? reason : undefined;
    const args = [
      ...[nonce, of?.attempt ?? '', of?.startedAtMs ?? '', encodeWords({ by, reason })],
      ...[...endArgs({ ...end, detail } as OnceEnd), end.kind],
    ];
    const { verdict, record } = await this.#write('settle', key, args, call);
    return { outcome: verdict, record } as OnceSettleResult;
  }

  async read(key: string, call: CallOptions): Promise<OnceRecord | undefined> {
    const keys = [this.#keys.record(validateKey(key))];
    const timeoutMs = this.#timeoutOf(call);
    const script = { ...readScript, name: titleOf('read', key) };
    const reply = await this.#session.connection.run(script, keys, [], timeoutMs);
    return this.#parse(key, reply).record;
  }

  async unknown(options: OnceUnknownOptions, call: CallOptions): Promise<OnceRecord[]> {
    const { limit, after } = checkUnknownOptions(options);
    const page = after === undefined ? ['', ''] : [after.deadlineAtMs, encodeName(after.key)];
    const args = [this.#keys.records, limit, ...page];
    const timeoutMs = this.#timeoutOf(call);
    const { connection } = this.#session;
    const script = { ...unknownScript, name: 'the reading of unknown keys' };
    const reply = await connection.run(script, [this.#keys.open], args, timeoutMs);
    const [now, found] = reply as [string, string[][]];
    const records = found.map((fields) => parseRecord(fields, Number(now), this.#keys.open));
    return records.filter((record) => record !== undefined);
  }

  async forget(limit: number, call: CallOptions): Promise<number> {
    checkLimit(limit);
    this.#timeoutOf(call);
    // The server does that by itself.
    return 0;
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  async #write(
    operation: keyof typeof writingScripts,
    key: string,
    args: readonly (string | number)[],
    call: CallOptions,
  ) {
    const timeoutMs = this.#timeoutOf(call);
    const keys = [this.#keys.record(key), this.#keys.open];
    const all = [encodeName(key), ...args];
    const script = { ...writingScripts[operation], name: titleOf(operation, key) };
    return this.#parse(key, await this.#writes.run(script, keys, all, timeoutMs));
  }

  #parse(key: string, reply: unknown) {
    const where = this.#keys.record(key);
    const [verdict, now, fields] = reply as Reply;
    if (verdict === 'corrupt') throw corrupt(where);
    return { verdict, record: parseRecord(fields, Number(now), where) };
  }

  #timeoutOf(call: CallOptions): number {
    const timeoutMs = checkCall(call);
    this.#session.throwIfClosed();
    return timeoutMs;
  }
}

/** State, keep ms, result and detail; a text that is there begins with a plus. */
function endArgs(end: OnceEnd): (string | number)[] {
  const state = end.kind === 'not-applied' ? 'free' : end.kind;
  const given = (text: string | undefined) => (text === undefined ? '' : `+${text}`);
  const result = end.kind === 'done' ? end.result : undefined;
  return [state, end.keepMs ?? '', given(result), given(end.detail)];
}
