import { kindTold } from '../../errors/error-kind.js';
import { TenureError } from '../../errors/index.js';
import { unreachable } from '../../errors/unanswered.js';
import { Emitter, type EventSource, type Unsubscribe } from '../../events/index.js';
import { Backoff, type Runtime, realRuntime, sleep } from '../../time/index.js';
import type { RedisSource } from './client.js';
import { checkConnectTimeout } from './connect-timeout.js';
import { replyCode, replyError } from './errors.js';
import type { Link } from './link.js';
import { openLink } from './opening.js';

export interface RedisSubscriberOptions {
  readonly runtime?: Runtime | undefined;
  /** How long connecting and subscribing may take, and an answer to a heartbeat. Default 2,000 ms. */
  readonly connectTimeoutMs?: number | undefined;
  /** On a cluster: a key, to whose node the subscriber goes. */
  readonly slotKey?: string | undefined;
  /** A socket that is silently dead is noticed within this plus `connectTimeoutMs`. Default 5,000 ms. */
  readonly heartbeatMs?: number;
}

export interface RedisSubscriberEvents {
  /** Subscribing failed, and is tried again. Nothing is lost but speed. */
  warning: { readonly address: string; readonly message: string };
}

/** Gets a channel's messages; `undefined` means "subscribed just now: anything may have happened before". */
export type ChannelListener = (message: string | undefined) => void;

/**
 * One socket for any number of Pub/Sub channels, opened with the first listener and closed with the last.
 *
 * Pub/Sub forgets what nobody hears, so a message is a hint: after every (re)connect each listener is called without
 * one. A heartbeat notices a socket whose other end is gone without a word.
 */
export class RedisSubscriber implements EventSource<RedisSubscriberEvents> {
  readonly #source: RedisSource;
  readonly #runtime: Runtime;
  readonly #connectTimeoutMs: number;
  readonly #heartbeatMs: number;
  readonly #slotKey: string;
  readonly #backoff: Backoff;
  readonly #events = new Emitter<RedisSubscriberEvents>({ warning: true });
  /** One event per channel: a listener that throws must not reach the client library. */
  readonly #messages = new Emitter<Record<string, string | undefined>>('any');
  readonly #channels = new Set<string>();
  /** Ends the running loop; a new one for each time the first channel is added. */
  #stopping: AbortController | undefined;
  #link: Link | undefined;
  #loop: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(source: RedisSource, options: RedisSubscriberOptions = {}) {
    this.#source = source;
    this.#runtime = options.runtime ?? realRuntime;
    this.#connectTimeoutMs = checkConnectTimeout(options.connectTimeoutMs);
    this.#heartbeatMs = options.heartbeatMs ?? 5_000;
    this.#slotKey = options.slotKey ?? '';
    this.#backoff = new Backoff(this.#runtime, { firstMs: 100, limitMs: 5_000 });
  }

  on<Name extends keyof RedisSubscriberEvents>(
    name: Name,
    listener: (event: RedisSubscriberEvents[Name]) => void,
  ): Unsubscribe {
    return this.#events.on(name, listener);
  }

  /** Calls `listener` with every later message of the channel that is heard. After `close()` it never does. */
  subscribe(channel: string, listener: ChannelListener): Unsubscribe {
    if (this.#closed) return () => {};
    const unsubscribe = this.#messages.on(channel, listener);
    if (!this.#channels.has(channel)) {
      this.#channels.add(channel);
      if (this.#link !== undefined) void this.#join(this.#link, [channel]);
      this.#start();
    }
    return () => {
      unsubscribe();
      if (this.#messages.listenerCount(channel) === 0) this.#drop(channel);
    };
  }

  #drop(channel: string): void {
    if (!this.#channels.delete(channel)) return;
    if (this.#channels.size === 0) this.#stop();
    else if (this.#link !== undefined) void this.#leave(this.#link, channel);
  }

  #start(): void {
    if (this.#stopping !== undefined) return;
    const stopping = new AbortController();
    this.#stopping = stopping;
    this.#loop = this.#loop.then(() => this.#keepConnected(stopping.signal));
  }

  #stop(): void {
    this.#stopping?.abort();
    this.#stopping = undefined;
    this.#link?.end('nobody listens any more');
    this.#link = undefined;
  }

  /** Runs until it is stopped; between two attempts there is always a pause. */
  async #keepConnected(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#listen(signal);
      } catch (error) {
        if (!signal.aborted) this.#warn(error);
      }
      await sleep(this.#runtime, this.#backoff.nextMs(), signal);
    }
  }

  /** One connection from its opening to its end. */
  async #listen(signal: AbortSignal): Promise<void> {
    const link = await openLink(this.#source, {
      runtime: this.#runtime,
      deadlineMs: this.#deadlineMs(),
      signal,
      slotKey: this.#slotKey,
    });
    if (signal.aborted) return;
    const ended = new AbortController();
    link.onEnd(() => ended.abort());
    link.onMessage((channel, message) => this.#messages.emit(channel, message));
    try {
      this.#link = link;
      await this.#join(link, [...this.#channels]);
      while (!ended.signal.aborted) {
        await sleep(this.#runtime, this.#heartbeatMs, ended.signal);
        if (ended.signal.aborted) break;
        await link.call('ping', [], 'the heartbeat', this.#deadlineMs());
        this.#backoff.reset();
      }
    } finally {
      if (this.#link === link) this.#link = undefined;
      link.end('the subscription ended');
    }
  }

  /** Subscribes, then wakes: what was published before nobody heard. */
  async #join(link: Link, channels: readonly string[]): Promise<void> {
    try {
      await link.call('subscribe', [...channels], 'SUBSCRIBE', this.#deadlineMs());
    } catch (error) {
      this.#warn(error);
      link.end('SUBSCRIBE failed');
      return;
    }
    for (const channel of channels) this.#messages.emit(channel, undefined);
  }

  async #leave(link: Link, channel: string): Promise<void> {
    try {
      await link.call('unsubscribe', [channel], 'UNSUBSCRIBE', this.#deadlineMs());
      // Somebody may have come back while we were leaving.
      if (this.#channels.has(channel) && link === this.#link) await this.#join(link, [channel]);
    } catch {
      link.end('UNSUBSCRIBE failed');
    }
  }

  #deadlineMs(): number {
    return this.#runtime.now().monotonicMs + this.#connectTimeoutMs;
  }

  #warn(error: unknown): void {
    const known =
      replyCode(error) !== undefined
        ? replyError(error as Error, 'SUBSCRIBE', this.#source.address)
        : error instanceof TenureError
          ? error
          : unreachable(kindTold(error), String(error));
    this.#events.emit('warning', { address: this.#source.address, message: known.message });
  }

  /** Ends the socket; no listener is called any more. Safe to call twice. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#channels.clear();
    this.#messages.removeAll();
    this.#stop();
    await this.#loop;
  }
}
