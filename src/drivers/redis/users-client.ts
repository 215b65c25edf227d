import { OptionError } from '../../errors/index.js';
import type { DuplicableRedisClient, RedisClient, RedisNode, RedisSource } from './client.js';
import { ClusterSource } from './cluster.js';
import { type Endpoint, endpointText, type NodeAddressMap } from './endpoint.js';
import { openIoredis, safeIoredisOptions } from './ioredis.js';
import { duplicateNodeRedis, type NodeRedisClient } from './node-redis.js';
import { SentinelSource } from './sentinels.js';

/*
 * A user's client is asked for its options only: where its servers are, and how one logs in there. What it does with its
 * own connections is nothing to us, and what we open is ours.
 */

const remedy =
  'pass a redis://, redis+sentinel:// or redis+cluster:// URL, or a client of ioredis or node-redis';

/** @throws {OptionError} if the value is no such client, or one whose options cannot be had. */
export function sourceFromClient(
  client: DuplicableRedisClient,
  addressMap: NodeAddressMap,
): RedisSource {
  // Whatever it is may hold a password, so no error carries it.
  if (typeof client?.duplicate !== 'function')
    throw new OptionError('client', typeof client, 'is not a Redis client', remedy);
  if (isIoredisCluster(client)) return ioredisCluster(client, addressMap);
  if (isNodeRedisCluster(client)) return nodeRedisCluster(client, addressMap);
  if (isNodeRedis(client)) return nodeRedisServer(client);
  if (isIoredis(client)) {
    const { sentinels } = client.options;
    return sentinels ? ioredisSentinels(client, addressMap) : ioredisServer(client);
  }
  throw new OptionError('client', undefined, 'does not show how it connects', remedy);
}

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

function isIoredis(client: object): client is Ioredis {
  const { options } = client as Partial<Ioredis>;
  return typeof options === 'object' && options !== null && !('acquire' in client);
}

function duplicateIoredis(client: Ioredis, there: object, connectTimeoutMs: number): RedisClient {
  return client.duplicate({ ...safeIoredisOptions(connectTimeoutMs), ...there }) as RedisClient;
}

function addressOf(endpoint: Endpoint, db = 0, tls?: unknown): string {
  return `${tls ? 'rediss' : 'redis'}://${endpointText(endpoint)}/${db}`;
}

function ioredisServer(client: Ioredis): RedisSource {
  const { host = 'localhost', port = 6379, path, db = 0, tls, Connector } = client.options;
  if (Connector)
    throw new OptionError(
      'client',
      undefined,
      'has a Connector of its own',
      `leave it out, or ${remedy}`,
    );
  const node: RedisNode = {
    address: path ? `redis socket ${path}` : addressOf({ host, port }, db, tls),
    open: async (timeoutMs) => duplicateIoredis(client, {}, timeoutMs),
  };
  return { topology: 'single', address: node.address, locate: async () => [node] };
}

function ioredisSentinels(client: Ioredis, addressMap: NodeAddressMap): RedisSource {
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

function isIoredisCluster(client: object): client is IoredisCluster {
  const { isCluster, startupNodes } = client as Partial<IoredisCluster>;
  return isCluster === true && Array.isArray(startupNodes);
}

function ioredisCluster(client: IoredisCluster, addressMap: NodeAddressMap): RedisSource {
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
    throw new OptionError('client', undefined, 'has a startup node that is no URL', remedy);
  return { host: node.host ?? '127.0.0.1', port: node.port ?? 6379 };
}

function isNodeRedis(client: object): client is NodeRedisClient {
  const { isReady, sendCommand, destroy, subscribe, options } = client as Partial<NodeRedisClient>;
  const methods = [sendCommand, destroy, subscribe];
  const hasOptions = options === undefined || typeof options === 'object';
  return (
    typeof isReady === 'boolean' &&
    methods.every((one) => typeof one === 'function') &&
    hasOptions &&
    !('acquire' in client)
  );
}

function nodeRedisServer(client: NodeRedisClient): RedisSource {
  const { socket = {}, database = 0 } = client.options ?? {};
  const { host = 'localhost', port = 6379, path, tls } = socket;
  const node: RedisNode = {
    address: path ? `redis socket ${path}` : addressOf({ host, port }, database, tls),
    open: async (timeoutMs) => duplicateNodeRedis(client, timeoutMs),
  };
  return { topology: 'single', address: node.address, locate: async () => [node] };
}

interface NodeOfNodeRedis {
  /** As the cluster tells it. */
  readonly address: string;
  readonly client?: NodeRedisClient | undefined;
}

interface NodeRedisCluster extends DuplicableRedisClient {
  readonly masters: readonly NodeOfNodeRedis[];
  readonly replicas: readonly NodeOfNodeRedis[];
}

function isNodeRedisCluster(client: object): client is NodeRedisCluster {
  const { masters, replicas } = client as Partial<NodeRedisCluster>;
  return Array.isArray(masters) && Array.isArray(replicas);
}

/** It hides its options; the clients of its nodes, once it is connected, show theirs. */
function nodeRedisCluster(cluster: NodeRedisCluster, addressMap: NodeAddressMap): RedisSource {
  const connected = [...cluster.masters, ...cluster.replicas].flatMap(({ address, client }) => {
    const { host, port } = client?.options?.socket ?? {};
    return client && host !== undefined && port !== undefined
      ? [{ address, client, endpoint: { host, port } }]
      : [];
  });
  const [first] = connected;
  if (first === undefined)
    throw new OptionError(
      'client',
      undefined,
      'is a cluster of node-redis that is not connected, and hides its options',
      'connect it first, or pass a redis+cluster:// URL',
    );
  const told = connected.map(({ address, endpoint }) => [address, endpointText(endpoint)]);
  return new ClusterSource({
    seeds: connected.map(({ endpoint }) => endpoint),
    addressMap: { ...Object.fromEntries(told), ...addressMap },
    nodeAt: (endpoint) => ({
      address: addressOf(endpoint, 0, first.client.options?.socket?.tls),
      open: async (timeoutMs) => duplicateNodeRedis(first.client, timeoutMs, endpoint),
    }),
  });
}
