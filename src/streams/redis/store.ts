import type { CallOptions } from '../../coordinators/index.js';
import {
  type DuplicableRedisClient,
  type RedisConnectionEvents,
  type RedisScript,
  RedisSession,
  type RedisSourceOptions,
} from '../../drivers/redis/index.js';
import { type Known, requireKnown } from '../../errors/checks.js';
import type { EventSource, Unsubscribe } from '../../events/index.js';
import type { Runtime } from '../../time/index.js';
import type {
  InstallRequest,
  InstallResult,
  OpenResult,
  PublishRequest,
  PublishResult,
  SealResult,
  ShardBacklog,
  StepRequest,
  StepResult,
  StreamPromises,
  StreamStore,
  TopicResult,
} from '../contract.js';
import {
  checkDedupeWindow,
  checkInstalls,
  checkKey,
  checkLargestPayload,
  checkPublishes,
  checkSeq,
  checkShard,
  checkShardCount,
  checkShards,
  checkSteps,
  checkTimeout,
  checkVersion,
  defaultLargestPayloadBytes,
} from '../requests.js';
import { backlogBatch, installBatch, lateAnswer, publishBatch, stepBatch } from './batches.js';
import { type Batch, runBatch } from './calls.js';
import { readCount, sealScanCount } from './chunks.js';
import { StreamKeys } from './keys.js';
import {
  parseBacklog,
  parseInstall,
  parseOpen,
  parsePublish,
  parseSeal,
  parseStep,
  parseTopic,
} from './replies.js';
import { openScript, sealScript, topicScript } from './scripts.js';

export interface RedisStreamsOptions extends RedisSourceOptions {
  /** The topic: its logs, numbering and bell are its own. A name, see `validateName`. */
  readonly topic: string;
  /** Topics of two namespaces know nothing of each other. Default `default`. */
  readonly namespace?: string;
  /**
   * How long a message's id is remembered, from 1 ms. Default one hour. Each id takes some 200 bytes of the server's
   * memory for so long; a retry that comes later is appended once more.
   */
  readonly dedupeWindowMs?: number;
  /** A larger payload is refused. Default 256 KiB. */
  readonly largestPayloadBytes?: number;
  /** Clocks and timers that bound the calls. Default: those of this process. */
  readonly runtime?: Runtime;
  /** How long one attempt to connect, log in and check the server may take. Default 2,000 ms. */
  readonly connectTimeoutMs?: number;
}

/** A stream store that also reports what happens to its connection. */
export interface RedisStreams extends StreamStore, EventSource<RedisConnectionEvents> {}

/** What the server keeps depends on its configuration, so this names the settings instead of a promise of our own. */
const durability =
  'What the server keeps: every acknowledged append with appendfsync always; all but about the last second with everysec; nothing over a restart without a file. A fail-over to a replica may lose the last ones.';

/**
 * A stream store on one Redis server (7.0 or later), or the master that sentinels watch: one Redis stream per shard that
 * holds its unfinished messages.
 *
 * The leases of the shards may live elsewhere: each log keeps the term that was installed in it. It opens a connection
 * at the first call and a second one for `watch`. Calls may be made concurrently; after `close()` they reject with
 * `ClosedError`.
 *
 * A large batch is executed in pieces. If one fails after others were executed, the call rejects with
 * `OutcomeUnknownError`; repeating it is harmless.
 *
 * @param urlOrClient `redis://` or `redis+sentinel://` URL, `rediss` for TLS, or a client of ioredis or node-redis, as
 * `redisCoordinator` takes it: duplicated and never used itself.
 * @throws {OptionError} for anything that is not one of these, a cluster (its shards would be on many nodes), or an option
 * out of range.
 */
export function redisStreams(
  urlOrClient: string | URL | DuplicableRedisClient,
  options: RedisStreamsOptions,
): RedisStreams {
  return new RedisStreamStore(urlOrClient, options);
}

const optionKeys: Known<RedisStreamsOptions> = {
  topic: true,
  namespace: true,
  dedupeWindowMs: true,
  largestPayloadBytes: true,
  runtime: true,
  connectTimeoutMs: true,
  sentinelUsername: true,
  sentinelPassword: true,
  nodeAddressMap: true,
};

class RedisStreamStore implements RedisStreams {
  readonly promises: StreamPromises;
  readonly #keys: StreamKeys;
  readonly #largestPayloadBytes: number;
  readonly #session: RedisSession;

  constructor(urlOrClient: string | URL | DuplicableRedisClient, options: RedisStreamsOptions) {
    requireKnown('options', options, optionKeys, 'pass { topic }: the name of the topic');
    this.#keys = new StreamKeys(options.namespace ?? 'default', options.topic);
    const dedupeWindowMs = checkDedupeWindow(options.dedupeWindowMs ?? 3_600_000);
    this.promises = { store: 'redis', durability, dedupeWindowMs };
    this.#largestPayloadBytes = checkLargestPayload(
      options.largestPayloadBytes ?? defaultLargestPayloadBytes,
    );
    this.#session = new RedisSession('the Redis stream store', urlOrClient, options);
  }

  on<Name extends keyof RedisConnectionEvents>(
    name: Name,
    listener: (event: RedisConnectionEvents[Name]) => void,
  ): Unsubscribe {
    return this.#session.on(name, listener);
  }

  async describeTopic(shardCount: number, call: CallOptions): Promise<TopicResult> {
    const { topic } = this.#keys;
    const answer = await this.#runOne(topicScript, [topic], [checkShardCount(shardCount)], call);
    return parseTopic(answer, shardCount, topic);
  }

  async publish(requests: readonly PublishRequest[], call: CallOptions): Promise<PublishResult[]> {
    const checked = checkPublishes(requests, this.#largestPayloadBytes);
    const batch = publishBatch(checked, this.#keys, this.promises.dedupeWindowMs);
    return zip(checked, await this.#run(batch, call), ({ shard, key, id }, answer) => {
      if (answer === lateAnswer) return { outcome: 'too-late' };
      const names = this.#keys.shard(shard);
      return parsePublish(answer, names, () => names.id(key, id));
    });
  }

  async install(requests: readonly InstallRequest[], call: CallOptions): Promise<InstallResult[]> {
    const checked = checkInstalls(requests);
    const answers = await this.#run(installBatch(checked, this.#keys), call);
    return zip(checked, answers, ({ shard }, answer) =>
      parseInstall(answer, this.#keys.shard(shard)),
    );
  }

  async step(requests: readonly StepRequest[], call: CallOptions): Promise<StepResult[]> {
    const checked = checkSteps(requests, isPosition);
    const batch = stepBatch(checked, this.#keys, this.#largestPayloadBytes);
    return zip(checked, await this.#run(batch, call), ({ shard }, answer) =>
      parseStep(answer, this.#keys.shard(shard)),
    );
  }

  async backlog(shards: readonly number[], call: CallOptions): Promise<ShardBacklog[]> {
    const checked = checkShards(shards);
    const answers = await this.#run(backlogBatch(checked, this.#keys), call);
    return zip(checked, answers, (shard, answer) =>
      parseBacklog(answer, shard, this.#keys.shard(shard)),
    );
  }

  watch(wake: (shard: number | undefined) => void): Unsubscribe {
    this.#session.throwIfClosed();
    return this.#session.subscriber.subscribe(this.#keys.bell, (message) =>
      wake(shardOfBell(message)),
    );
  }

  async seal(shard: number, key: string, version: number, call: CallOptions): Promise<SealResult> {
    const names = this.#keys.shard(checkShard(shard));
    const scan = [sealScanCount, readCount(this.#largestPayloadBytes)];
    const args = [checkKey(key), checkVersion(version), ...scan];
    return parseSeal(await this.#runOne(sealScript, [names.log, names.keys], args, call), names);
  }

  async open(
    shard: number,
    key: string,
    lastSeq: number,
    version: number,
    call: CallOptions,
  ): Promise<OpenResult> {
    const names = this.#keys.shard(checkShard(shard));
    const args = [checkKey(key), checkVersion(version), checkSeq(lastSeq, 'lastSeq', 0)];
    return parseOpen(await this.#runOne(openScript, [names.keys], args, call), names);
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  #run<Item>(batch: Batch<Item>, call: CallOptions): Promise<string[]> {
    const timeoutMs = checkTimeout(call);
    this.#session.throwIfClosed();
    return runBatch(this.#session.connection, batch, timeoutMs);
  }

  async #runOne(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
    call: CallOptions,
  ): Promise<string> {
    const timeoutMs = checkTimeout(call);
    this.#session.throwIfClosed();
    return String(await this.#session.connection.run(script, keys, args, timeoutMs));
  }
}

const isPosition = (text: string) => /^\d{1,20}-\d{1,20}$/.test(text);

/** Anybody may publish on a channel: what is no shard number wakes everything, which is harmless. */
function shardOfBell(message: string | undefined): number | undefined {
  return message !== undefined && /^\d{1,15}$/.test(message) ? Number(message) : undefined;
}

function zip<Item, Result>(
  items: readonly Item[],
  answers: readonly string[],
  parse: (item: Item, answer: string) => Result,
): Result[] {
  return items.map((item, index) => parse(item, answers[index] ?? 'x'));
}
