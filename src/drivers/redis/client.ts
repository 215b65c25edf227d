import { OptionError } from '../../errors/index.js';

/**
 * The slice of an ioredis client (5 or later) that tenure calls. Structural, so that a user's own copy of ioredis fits
 * whatever its exact version.
 */
export interface RedisClient {
  readonly status: string;
  /** The socket, once there is one: destroyed rather than ended, so that nothing buffered leaves after we gave up. */
  readonly stream?: { destroy(): unknown } | null;
  connect(): Promise<unknown>;
  disconnect(): void;
  /** Command names in lower case: ioredis tells a subscription by its name. */
  call(command: string, args: (string | number)[]): Promise<unknown>;
  on(event: string, listener: (...values: never[]) => void): unknown;
}

/**
 * A user's ioredis client. It is only asked to `duplicate()` itself: its own connection may queue, resend and retry,
 * and is never used, changed or closed.
 */
export interface DuplicableRedisClient {
  duplicate(overrides?: object): unknown;
  readonly options?: {
    readonly host?: string | undefined;
    readonly port?: number | undefined;
    readonly path?: string | undefined;
    readonly db?: number | undefined;
    readonly tls?: object | undefined;
  };
  readonly isCluster?: boolean;
}

/** Opens one more client, not yet connected, that connects once and never by itself again. */
export interface RedisSource {
  /** Where it connects to, for messages; holds no credentials. */
  readonly address: string;
  open(connectTimeoutMs: number): Promise<RedisClient>;
}

/**
 * What a client must not do behind our back. ioredis by default queues commands while it is offline and sends those
 * that had no answer once more after a reconnect, so a script could run twice, or long after its caller gave up.
 *
 * Its own reconnecting is off as well: a client stands for one socket, and a lost socket is a lost client.
 */
function safeOptions(connectTimeoutMs: number): object {
  return {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    reconnectOnError: null,
    connectTimeout: connectTimeoutMs,
    // A link destroys its socket itself; a farewell of two seconds would only hold up the end of the process.
    disconnectTimeout: 1,
    // Both are replaced by deadlines of our own, which also give up the connection.
    commandTimeout: undefined,
    socketTimeout: undefined,
    // The ready check waits for INFO without an end, and INFO may be denied; we look for ourselves.
    enableReadyCheck: false,
    // RESP2 needs no HELLO, which minimal ACLs deny and some proxies do not know.
    protocol: 2,
    replyMapping: 'legacy',
    stringNumbers: false,
    disableClientInfo: true,
    connectionName: 'tenure',
    // Prefixes would move the hash tag; auto-pipelining delays what it has not sent.
    keyPrefix: '',
    enableAutoPipelining: false,
    readOnly: false,
    monitor: false,
  };
}

/**
 * Where connections come from: a `redis:` or `rediss:` URL, or an ioredis client of the user's.
 *
 * @throws {OptionError} if it is neither, or a Cluster client.
 */
export function redisSource(urlOrClient: string | URL | DuplicableRedisClient): RedisSource {
  if (typeof urlOrClient === 'string' || urlOrClient instanceof URL) {
    return sourceFromUrl(String(urlOrClient));
  }
  return sourceFromClient(urlOrClient);
}

function sourceFromUrl(text: string): RedisSource {
  const options = connectionOptions(text);
  return {
    address: addressOf(options),
    async open(connectTimeoutMs) {
      const Redis = await loadRedis();
      return new Redis({ ...options, ...safeOptions(connectTimeoutMs) });
    },
  };
}

function sourceFromClient(client: DuplicableRedisClient): RedisSource {
  const remedy = 'pass a redis:// URL or an ioredis client of a single server';
  if (typeof client?.duplicate !== 'function')
    // Whatever it is may hold a password, so the error does not carry it.
    throw new OptionError('client', typeof client, 'is not an ioredis client', remedy);
  if (client.isCluster) throw new OptionError('client', 'a Cluster', 'is not supported', remedy);
  const { host = 'localhost', port = 6379, path, db = 0, tls } = client.options ?? {};
  return {
    address: path === undefined ? addressOf({ host, port, db, tls }) : `redis socket ${path}`,
    open: async (connectTimeoutMs) =>
      client.duplicate(safeOptions(connectTimeoutMs)) as RedisClient,
  };
}

function addressOf({ host, port, db, tls }: Place): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return `${tls ? 'rediss' : 'redis'}://${name}:${port}/${db}`;
}

type Place = Pick<ConnectionOptions, 'host' | 'port' | 'db'> & {
  readonly tls?: object | undefined;
};

interface ConnectionOptions {
  readonly host: string;
  readonly port: number;
  readonly db: number;
  readonly username?: string;
  readonly password?: string;
  readonly tls?: object;
}

/** Reads the URL here, since ioredis takes any parameter of a URL for an option, unsafe ones included. */
function connectionOptions(text: string): ConnectionOptions {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['redis:', 'rediss:'].includes(url.protocol))
    throw badUrl('is not a Redis URL');
  if (url.search !== '' || url.hash !== '') throw badUrl('has parameters, which are not read');
  const database = url.pathname.replace(/^\//, '');
  if (!/^\d{0,5}$/.test(database)) throw badUrl('names a database that is not a number');
  return {
    // The brackets of an IPv6 address belong to the URL, not to the address.
    host: url.hostname.replace(/^\[(.*)\]$/, '$1') || 'localhost',
    port: url.port === '' ? 6379 : Number(url.port),
    db: Number(database),
    ...(url.username === '' ? {} : { username: decode(url.username) }),
    ...(url.password === '' ? {} : { password: decode(url.password) }),
    ...(url.protocol === 'rediss:' ? { tls: {} } : {}),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badUrl('has a % in its user or password that encodes nothing');
  }
}

/** The URL is a secret, so an error shows none of it: a misplaced `@`, `/` or `#` moves the password anywhere. */
function badUrl(problem: string): OptionError {
  const remedy =
    'use redis://host:port/database, with user:password and an @ before the host if it needs them, each part percent-encoded; rediss:// for TLS';
  return new OptionError('url', 'hidden', problem, remedy);
}

type RedisConstructor = new (options: object) => RedisClient;

async function loadRedis(): Promise<RedisConstructor> {
  try {
    const module = await import('ioredis');
    return module.Redis as unknown as RedisConstructor;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new OptionError('ioredis', undefined, 'is not installed', 'run: npm install ioredis');
  }
}
