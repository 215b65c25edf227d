import { requireObject } from '../../errors/checks.js';
import { ClosedError, OptionError } from '../../errors/index.js';
import { Emitter, type EventSource, type Unsubscribe } from '../../events/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type { DuplicableRedisClient, Topology } from './client.js';
import {
  RedisConnection,
  type RedisConnectionEvents,
  redisConnectionEventNames,
} from './connection.js';
import { type RedisSourceOptions, redisSource } from './source.js';
import { RedisSubscriber } from './subscriber.js';

export interface RedisSessionOptions extends RedisSourceOptions {
  readonly runtime?: Runtime | undefined;
  /** How long one attempt to connect, log in and check the server may take. Default 2,000 ms. */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * A key of the store's, all of whose keys are in one slot: on a cluster it lives on the node that owns that. Absent: its
   * keys are in many slots, so that a cluster is refused.
   */
  readonly slotKey?: string | undefined;
}

/** What a store needs of its server: a connection for scripts, a subscriber for hints, and their events in one place. */
export class RedisSession implements EventSource<RedisConnectionEvents> {
  readonly connection: RedisConnection;
  readonly subscriber: RedisSubscriber;
  /** How many servers there are behind it, and who finds the right one. */
  readonly topology: Topology;
  readonly #what: string;
  readonly #events = new Emitter<RedisConnectionEvents>(redisConnectionEventNames);
  #isClosed = false;

  /**
   * Opens nothing yet.
   *
   * @param what the name of the store, for the error after `close()`.
   * @throws {OptionError} if the URL or client cannot be used, or the timeout is none.
   */
  constructor(
    what: string,
    urlOrClient: string | URL | DuplicableRedisClient,
    options: RedisSessionOptions,
  ) {
    requireRuntime(requireObject('options', options).runtime);
    this.#what = what;
    const source = redisSource(urlOrClient, options);
    this.topology = source.topology;
    if (source.topology === 'cluster' && options.slotKey === undefined)
      throw new OptionError(
        'url',
        'hidden',
        `leads to a cluster, where the keys of ${what} would be on many nodes`,
        'use a single server, or one with sentinels, for it',
      );
    this.connection = new RedisConnection(source, options);
    this.subscriber = new RedisSubscriber(source, options);
    this.connection.on('connected', (event) => this.#events.emit('connected', event));
    this.connection.on('disconnected', (event) => this.#events.emit('disconnected', event));
    this.connection.on('warning', (event) => this.#events.emit('warning', event));
    this.subscriber.on('warning', (event) => this.#events.emit('warning', event));
  }

  on<Name extends keyof RedisConnectionEvents>(
    name: Name,
    listener: (event: RedisConnectionEvents[Name]) => void,
  ): Unsubscribe {
    return this.#events.on(name, listener);
  }

  /** @throws {ClosedError} */
  throwIfClosed(): void {
    if (this.#isClosed) throw new ClosedError(this.#what);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.connection.close(), this.subscriber.close()]);
    this.#events.removeAll();
  }
}
