import { EventEmitter } from 'node:events';
import { NotSentError, type RedisClient } from './client.js';

/** The slice of a node-redis client (5 or later) that tenure calls. */
export interface NodeRedisClient {
  readonly isReady: boolean;
  readonly options?: NodeRedisOptions | undefined;
  duplicate(overrides?: object): unknown;
  connect(): Promise<unknown>;
  destroy(): unknown;
  sendCommand(args: readonly string[]): Promise<unknown>;
  subscribe(
    channels: readonly string[],
    listener: (message: string, channel: string) => unknown,
  ): Promise<unknown>;
  unsubscribe(channels: readonly string[]): Promise<unknown>;
  on(event: string, listener: (...values: never[]) => void): unknown;
}

export interface NodeRedisOptions {
  readonly socket?: NodeRedisSocket | undefined;
  readonly database?: number | undefined;
}

export interface NodeRedisSocket {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly path?: string | undefined;
  readonly tls?: boolean | object | undefined;
}

/**
 * What a client must not do behind our back. node-redis by default queues commands while it is offline, reconnects by
 * itself, and gives commands a timeout after which they may still be executed.
 */
function safeOptions(socket: object, connectTimeoutMs: number): object {
  return {
    // It is contained in `socket` and the credentials already, and would go before an address of ours.
    url: undefined,
    socket: {
      ...socket,
      reconnectStrategy: false,
      connectTimeout: connectTimeoutMs,
      socketTimeout: undefined,
    },
    disableOfflineQueue: true,
    commandsQueueMaxLength: undefined,
    // Replaced by deadlines of our own, which also give up the connection; and replies are texts.
    commandOptions: { timeout: undefined },
    // RESP2 needs no HELLO, which minimal ACLs deny and some proxies do not know.
    RESP: 2,
    maintNotifications: 'disabled',
    clientSideCache: undefined,
    emitInvalidate: undefined,
    disableClientInfo: true,
    name: 'tenure',
    // Prefixes would move the hash tag.
    keyPrefix: undefined,
    readonly: false,
    pingInterval: undefined,
  };
}

/** A new client with the options of a user's, but for what is not safe; `there` replaces its address. */
export function duplicateNodeRedis(
  client: NodeRedisClient,
  connectTimeoutMs: number,
  there: object = {},
): RedisClient {
  const socket = { ...client.options?.socket, ...there };
  return new NodeRedisLink(
    client.duplicate(safeOptions(socket, connectTimeoutMs)) as NodeRedisClient,
  );
}

/** node-redis in the shape of ioredis. */
class NodeRedisLink implements RedisClient {
  readonly #client: NodeRedisClient;
  readonly #events = new EventEmitter();
  #isOver = false;

  constructor(client: NodeRedisClient) {
    this.#client = client;
    // Its errors are those of its socket, which it does not replace: one is the end of it.
    client.on('error', (error: Error) => {
      this.#events.emit('error', asReplyError(error));
      this.#end();
    });
    client.on('end', () => this.#end());
    // Without a listener of ours, an emitter throws what it is to report.
    this.#events.on('error', () => {});
  }

  get status(): string {
    return !this.#isOver && this.#client.isReady ? 'ready' : 'end';
  }

  async connect(): Promise<void> {
    try {
      await this.#client.connect();
    } catch (error) {
      this.#events.emit('error', asReplyError(error));
      throw error;
    }
  }

  disconnect(): void {
    this.#isOver = true;
    try {
      this.#client.destroy();
    } catch {
      // Version 5 says that way that it is closed already.
    }
  }

  async call(command: string, args: (string | number)[]): Promise<unknown> {
    const texts = args.map(String);
    try {
      if (command === 'subscribe') return await this.#client.subscribe(texts, this.#onMessage);
      if (command === 'unsubscribe') return await this.#client.unsubscribe(texts);
      return await this.#client.sendCommand([command, ...texts]);
    } catch (error) {
      throw asReplyError(error);
    }
  }

  readonly #onMessage = (message: string, channel: string): void => {
    this.#events.emit('message', channel, message);
  };

  on(event: string, listener: (...values: never[]) => void): void {
    this.#events.on(event, listener as (...values: unknown[]) => void);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#events.emit('end');
  }
}

const offline = ['ClientOfflineError', 'ClientClosedError'];

/** The classes of errors are told by their names: they are those of the user's copy of the package. */
function asReplyError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (offline.includes(error.constructor.name)) return new NotSentError(error.message);
  if (!isReply(error.constructor)) return error;
  const reply = new Error(error.message);
  reply.name = 'ReplyError';
  return reply;
}

function isReply(kind: unknown): boolean {
  if (typeof kind !== 'function') return false;
  return kind.name === 'ErrorReply' || isReply(Object.getPrototypeOf(kind));
}
