import { OptionError } from '../../errors/index.js';
import type { RedisClient } from './client.js';
import { withSending } from './ioredis-sending.js';

/**
 * What a client must not do behind our back. ioredis by default queues commands while it is offline and sends those
 * that had no answer once more after a reconnect, so a script could run twice, or long after its caller gave up.
 *
 * Its own reconnecting is off as well: a client stands for one socket, and a lost socket is a lost client. So is its own
 * search for a master, for the same reason.
 */
export function safeIoredisOptions(connectTimeoutMs: number): object {
  return {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    reconnectOnError: null,
    connectTimeout: connectTimeoutMs,
    sentinels: null,
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

/** A client of the ioredis that is installed beside tenure. @throws {OptionError} if there is none. */
export async function openIoredis(options: object, connectTimeoutMs: number): Promise<RedisClient> {
  const ioredis = await loadIoredis();
  const client = new ioredis.Redis({ ...options, ...safeIoredisOptions(connectTimeoutMs) });
  return withSending(client, ioredis);
}

/** @throws {OptionError} if it is not installed. */
export async function requireIoredis(): Promise<void> {
  await loadIoredis();
}

interface Ioredis {
  readonly Redis: new (options: object) => RedisClient;
}

/** One import for all who ask at the same time: on Node 22 a second one was seen to resolve before the module had run. */
let loading: Promise<unknown> | undefined;

async function loadIoredis(): Promise<Ioredis> {
  try {
    loading ??= import('ioredis');
    return (await loading) as Ioredis;
  } catch (cause) {
    loading = undefined;
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new OptionError('ioredis', undefined, 'is not installed', 'run: npm install ioredis');
  }
}
