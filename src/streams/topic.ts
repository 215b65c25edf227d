import {
  type Known,
  requireArray,
  requireKnown,
  requireMethods,
  requireObject,
} from '../errors/checks.js';
import { OptionError } from '../errors/index.js';
import { Emitter, type EventSource } from '../events/index.js';
import { defaultShardCount, type Pins, shardOf, validateShardCount } from '../shards/index.js';
import type { Runtime } from '../time/index.js';
import { requireRuntime } from '../time/require-runtime.js';
import type { PublishResult, ShardBacklog, StreamStore } from './contract.js';
import type { Receipt } from './lanes.js';
import { encodeMessage, type OutgoingMessage } from './outgoing.js';
import { Publisher } from './publisher.js';
import { defaultLargestPayloadBytes } from './requests.js';

/** All durations in milliseconds of monotonic time. */
export interface TopicOptions {
  /** A power of two from 1 to 65,536, the same in every process that publishes or handles. Default 256. */
  readonly shardCount?: number;
  /** The keys that live elsewhere than their hash says, as the workers know them. Default: none is, and none moves. */
  readonly pins?: Pins;
  /**
   * A publish settles within this long, retries included. 1 up to the time the store remembers ids; default 10,000.
   * Smaller means more publishes of unknown outcome in an outage, which their callers then have to repeat.
   */
  readonly timeoutMs?: number;
  /** One request to the store may take this long. Default a fifth of `timeoutMs`. */
  readonly attemptTimeoutMs?: number;
  /** Larger payloads are refused, measured as JSON in UTF-8 bytes. Default 256 KiB. The store has a limit of its own. */
  readonly largestPayloadBytes?: number;
  /** Clocks, timers and randomness. Default: the real ones. */
  readonly runtime?: Runtime;
}

export interface PublishOptions {
  /** This publish settles within this long. Default the topic's. */
  readonly timeoutMs?: number;
}

/** What is unfinished: appended and not yet handled. */
export interface Backlog {
  readonly count: number;
  /** How long ago the oldest of them was appended, by the store's clock; `undefined` if there is none. */
  readonly oldestAgeMs: number | undefined;
  /** Every shard, by number. */
  readonly shards: readonly ShardBacklog[];
}

export interface TopicEvents {
  /**
   * The store has answered a request of publishes: so many messages were appended, and so many were there already, by their id
   * or their `seq`. One event per request, not per message.
   */
  published: { readonly appendedCount: number; readonly duplicateCount: number };
}

const topicKeys: Known<TopicOptions> = {
  shardCount: true,
  pins: true,
  timeoutMs: true,
  attemptTimeoutMs: true,
  largestPayloadBytes: true,
  runtime: true,
};

/**
 * Where messages are published: keeps the order of each key.
 *
 * Publishes of one key that are called one after the other are appended in that order, awaited or not; but if one of
 * them fails, those called before its failure was known may have been appended all the same. Who cannot accept that
 * awaits each one, or numbers the messages itself (`seq`). The store is used, not owned: close it after the last
 * publish has settled.
 */
export class Topic {
  readonly store: StreamStore;
  readonly shardCount: number;
  readonly pins: Pins | undefined;
  readonly runtime: Runtime;
  readonly timeoutMs: number;
  readonly attemptTimeoutMs: number;
  readonly #largestPayloadBytes: number;
  readonly #publisher: Publisher;
  readonly #emitter = new Emitter<TopicEvents>({ published: true });

  /** @throws {OptionError} for what is no stream store, a bad count, duration or limit, or pins of another shard count. */
  constructor(store: StreamStore, options: TopicOptions = {}) {
    requireKnown('options', options, topicKeys);
    this.store = checkStore(store);
    this.shardCount = validateShardCount(options.shardCount ?? defaultShardCount);
    this.pins = checkPins(options.pins, this.shardCount);
    this.runtime = requireRuntime(options.runtime);
    this.timeoutMs = checkTimeout(store, options.timeoutMs ?? 10_000);
    this.attemptTimeoutMs = checkPositive(
      'attemptTimeoutMs',
      options.attemptTimeoutMs ?? this.timeoutMs / 5,
    );
    this.#largestPayloadBytes = checkPositive(
      'largestPayloadBytes',
      options.largestPayloadBytes ?? defaultLargestPayloadBytes,
    );
    this.#publisher = new Publisher({
      runtime: this.runtime,
      store,
      attemptTimeoutMs: this.attemptTimeoutMs,
      agree: () => this.agree(),
      route: (key) => this.shardOf(key),
      refreshRoutes: async () => void (await this.pins?.refresh()),
      answered: (results) => this.#tellPublished(results),
    });
  }

  get events(): EventSource<TopicEvents> {
    return this.#emitter;
  }

  /** Where messages of this key are appended now, as far as this process knows: by its pin, else by its hash. */
  shardOf(key: string): number {
    return this.pins === undefined ? shardOf(key, this.shardCount) : this.pins.shardOf(key);
  }

  /**
   * Appends one message, trying again while the budget lasts; a repeated id is recognised and appended once.
   *
   * @throws {OptionError} for a bad key, id, seq or payload, or if the store knows the topic with another shard count.
   * {@link SequenceGapError} if `seq` is not the next one. {@link OutcomeUnknownError} if it may have been appended:
   * publish again with the same id. {@link KeyMovingError}, {@link UnreachableError}, {@link StoreRefusedError}: it was
   * not appended; publish again. {@link RecordCorruptError}: nor was it, and its shard has to be mended first.
   */
  async publish(message: OutgoingMessage, options: PublishOptions = {}): Promise<Receipt> {
    const timeoutMs = this.#timeoutOf(options);
    return this.#publisher.submit(encodeMessage(message, this.#largestPayloadBytes), timeoutMs);
  }

  /**
   * Appends many messages, those of one key in the given order; the receipts stand in the order of the messages.
   *
   * @throws as {@link publish}: the first failure, after every message has settled. Others may have been appended;
   * publish all of them again with their same ids. Nothing is appended if one of them is refused as bad input.
   */
  async publishMany(
    messages: readonly OutgoingMessage[],
    options: PublishOptions = {},
  ): Promise<Receipt[]> {
    const timeoutMs = this.#timeoutOf(options);
    const given = requireArray('messages', messages, 'pass a list of { key, id, payload }');
    const encoded = given.map((message) => encodeMessage(message, this.#largestPayloadBytes));
    const settled = await Promise.allSettled(
      encoded.map((message) => this.#publisher.submit(message, timeoutMs)),
    );
    return settled.map((result) => {
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    });
  }

  /**
   * Makes sure that the store knows the topic with this shard count; the first to ask decides. The first publish and
   * every worker do it by themselves.
   *
   * @throws {OptionError} if the topic has another one: messages would go where nobody looks for them. The errors of the
   * store.
   */
  async agree(): Promise<void> {
    const call = { timeoutMs: this.attemptTimeoutMs };
    const result = await this.store.describeTopic(this.shardCount, call);
    if (result.outcome === 'agreed') return;
    const problem = `differs from that of the topic in its store (${result.shardCount})`;
    const remedy = 'use one shard count wherever the topic is published or handled';
    throw new OptionError('shardCount', this.shardCount, problem, remedy);
  }

  #tellPublished(results: readonly PublishResult[]): void {
    if (this.#emitter.listenerCount('published') === 0) return;
    const countOf = (outcome: PublishResult['outcome']) =>
      results.filter((result) => result.outcome === outcome).length;
    const appendedCount = countOf('appended');
    const duplicateCount = countOf('duplicate');
    if (appendedCount + duplicateCount > 0)
      this.#emitter.emit('published', { appendedCount, duplicateCount });
  }

  #timeoutOf(options: PublishOptions): number {
    const { timeoutMs = this.timeoutMs } = requireKnown('options', options, { timeoutMs: true });
    return checkTimeout(this.store, timeoutMs);
  }

  /** How much is unfinished, per shard and in sum. @throws the errors of the store. */
  async backlog(): Promise<Backlog> {
    const hashed = Array.from({ length: this.shardCount }, (_, shard) => shard);
    const numbers = [...hashed, ...(this.pins?.extraShards ?? [])];
    const shards = await this.store.backlog(numbers, { timeoutMs: this.attemptTimeoutMs });
    let count = 0;
    let oldestAgeMs: number | undefined;
    for (const shard of shards) {
      count += shard.count;
      if (shard.oldestAgeMs !== undefined)
        oldestAgeMs = Math.max(oldestAgeMs ?? 0, shard.oldestAgeMs);
    }
    return { count, oldestAgeMs, shards };
  }
}

function checkStore(store: StreamStore): StreamStore {
  const methods = ['describeTopic', 'publish', 'install', 'step', 'backlog', 'watch'];
  const remedy = 'pass what redisStreams or memoryStreams returns';
  requireMethods('store', store, methods, 'is no stream store', remedy);
  requireObject('store.promises', store.promises, remedy);
  return store;
}

function checkPins(pins: Pins | undefined, shardCount: number): Pins | undefined {
  if (pins === undefined) return undefined;
  const remedy = 'pass what Pins.load() resolves to, or leave it out';
  requireMethods('pins', pins, ['shardOf', 'refresh'], 'are none', remedy);
  if (pins.shardCount === shardCount) return pins;
  const problem = 'count other shards than the topic';
  throw new OptionError('pins', `${pins.shardCount} shards`, problem, `use ${shardCount}`);
}

/** A retry that comes after its id was forgotten is appended a second time. */
function checkTimeout({ promises }: StreamStore, value: number): number {
  const timeoutMs = checkPositive('timeoutMs', value);
  const { dedupeWindowMs } = promises;
  if (timeoutMs <= dedupeWindowMs) return timeoutMs;
  const problem = `is longer than the store remembers the id of a message (${dedupeWindowMs} ms)`;
  const remedy = `use at most ${dedupeWindowMs}, or raise the dedupeWindowMs of the store`;
  throw new OptionError('timeoutMs', timeoutMs, problem, remedy);
}

function checkPositive(option: string, value: number): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 1) return value;
  throw new OptionError(option, value, 'is out of range', 'use a number of 1 and above');
}
