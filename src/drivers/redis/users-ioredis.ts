import { OptionError } from '../../errors/index.js';
import { type Endpoint, endpointText } from '../endpoint.js';
import type { DuplicableRedisClient, RedisClient, RedisNode, RedisSource } from './client.js';
import { ClusterSource } from './cluster.js';
import { addressOf, type NodeAddressMap } from './endpoint.js';
import { openIoredis, safeIoredisOptions } from './ioredis.js';
import { SentinelSource } from './sentinels.js';

/* What a user's client of ioredis says of its servers: one, a master behind sentinels, or a cluster. */

interface IoredisOptions {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly path?: string | undefined;
  readonly db?: number | undefined;
  readonly tls?: object | undefined;
  readonly sentinels?: readonly { host?: string; port?: number }[] | null | undefined;
  readonly name?: string | undefined;
  readonly sentinelUsername?: string | null | undefined;
  readonly sentinelPassword?: string | null | undefined;
  readonly sentinelTLS?: object | undefined;
  readonly enableTLSForSentinelMode?: boolean | undefined;
  readonly natMap?: unknown;
  readonly Connector?: unknown;
}

interface Ioredis extends DuplicableRedisClient {
  readonly options: IoredisOptions;
}

export function isIoredis(client: object): client is Ioredis {
  const { options } = client as Partial<Ioredis>;
  return typeof options === 'object' && options !== null && !('acquire' in client);
}

function duplicateIoredis(client: Ioredis, there: object, connectTimeoutMs: number): RedisClient {
  return client.duplicate({ ...safeIoredisOptions(connectTimeoutMs), ...there }) as RedisClient;
}

export function ioredisServer(client: Ioredis): RedisSource {
  const { host = 'localhost', port = 6379, path, db = 0, tls, Connector } = client.options;
  if (Connector)
    throw new OptionError(
      'client',
      undefined,
      'has a Connector of its own',
      'leave it out, or pass a redis:// URL',
    );
  const node: RedisNode = {
    address: path ? `redis socket ${path}` : addressOf({ host, port }, db, tls),
    open: async (timeoutMs) => duplicateIoredis(client, {}, timeoutMs),
  };
  return { topology: 'single', address: node.address, locate: async () => [node] };
}

export function ioredisSentinels(client: Ioredis, addressMap: NodeAddressMap): RedisSource {
  const { options } = client;
  const tls = options.enableTLSForSentinelMode ? options.tls : undefined;
  const sentinelLogin = {
    username: options.sentinelUsername ?? undefined,
    password: options.sentinelPassword ?? undefined,
    tls: options.sentinelTLS,
    db: 0,
  };
  return new SentinelSource({
    sentinels: (options.sentinels ?? []).map(({ host = 'localhost', port = 26_379 }) => ({
      host,
      port,
    })),
    masterName: options.name ?? '',
    addressMap: { ...natMapOf(options.natMap), ...addressMap },
    sentinelAt: (endpoint) => ({
      address: `sentinel ${endpointText(endpoint)}`,
      open: async (timeoutMs) =>
        duplicateIoredis(client, { ...endpoint, ...sentinelLogin, path: undefined }, timeoutMs),
    }),
    nodeAt: (endpoint) => ({
      address: addressOf(endpoint, options.db, tls),
      open: async (timeoutMs) =>
        duplicateIoredis(client, { ...endpoint, tls, path: undefined }, timeoutMs),
    }),
  });
}

/** Of a table; a function would have to be asked for addresses that nobody knows yet. */
function natMapOf(natMap: unknown): NodeAddressMap {
  if (natMap === null || natMap === undefined) return {};
  if (typeof natMap === 'function')
    throw new OptionError(
      'client',
      undefined,
      'has a natMap that is a function',
      'give it as an object, or use the option nodeAddressMap with a URL',
    );
  const entries = Object.entries(natMap as Record<string, { host: string; port: number }>);
  return Object.fromEntries(entries.map(([told, there]) => [told, endpointText(there)]));
}

interface IoredisCluster extends DuplicableRedisClient {
  readonly isCluster: true;
  readonly startupNodes: readonly (
    | string
    | number
    | { host?: string; port?: number; url?: string }
  )[];
  readonly options: { readonly redisOptions?: IoredisOptions; readonly natMap?: unknown };
}

export function isIoredisCluster(client: object): client is IoredisCluster {
  const { isCluster, startupNodes } = client as Partial<IoredisCluster>;
  return isCluster === true && Array.isArray(startupNodes);
}

export function ioredisCluster(client: IoredisCluster, addressMap: NodeAddressMap): RedisSource {
  const { redisOptions = {}, natMap } = client.options;
  return new ClusterSource({
    seeds: client.startupNodes.map(startupNode),
    addressMap: { ...natMapOf(natMap), ...addressMap },
    nodeAt: (endpoint) => ({
      address: addressOf(endpoint, 0, redisOptions.tls),
      open: (timeoutMs) => openIoredis({ ...redisOptions, ...endpoint, db: 0 }, timeoutMs),
    }),
  });
}

function startupNode(node: IoredisCluster['startupNodes'][number]): Endpoint {
  if (typeof node === 'number') return { host: '127.0.0.1', port: node };
  const text = typeof node === 'string' ? node : node.url;
  const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined)
    return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(url.port || 6379) };
  if (typeof node === 'string')
    throw new OptionError(
      'client',
      undefined,
      'has a startup node that is no URL',
      'give each its host and port, or pass a redis+cluster:// URL',
    );
  return { host: node.host ?? '127.0.0.1', port: node.port ?? 6379 };
}
