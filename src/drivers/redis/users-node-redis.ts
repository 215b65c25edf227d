import { OptionError } from '../../errors/index.js';
import { endpointText } from '../endpoint.js';
import type { DuplicableRedisClient, RedisNode, RedisSource } from './client.js';
import { ClusterSource } from './cluster.js';
import { addressOf, type NodeAddressMap } from './endpoint.js';
import { duplicateNodeRedis, type NodeRedisClient } from './node-redis.js';

/* What a user's client of node-redis says of its servers: one, or a cluster. */

export function isNodeRedis(client: object): client is NodeRedisClient {
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

export function nodeRedisServer(client: NodeRedisClient): RedisSource {
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

export function isNodeRedisCluster(client: object): client is NodeRedisCluster {
  const { masters, replicas } = client as Partial<NodeRedisCluster>;
  return Array.isArray(masters) && Array.isArray(replicas);
}

/** It hides its options; the clients of its nodes, once it is connected, show theirs. */
export function nodeRedisCluster(
  cluster: NodeRedisCluster,
  addressMap: NodeAddressMap,
): RedisSource {
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
