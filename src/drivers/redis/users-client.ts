import { OptionError } from '../../errors/index.js';
import type { DuplicableRedisClient, RedisSource } from './client.js';
import type { NodeAddressMap } from './endpoint.js';
import {
  ioredisCluster,
  ioredisSentinels,
  ioredisServer,
  isIoredis,
  isIoredisCluster,
} from './users-ioredis.js';
import {
  isNodeRedis,
  isNodeRedisCluster,
  nodeRedisCluster,
  nodeRedisServer,
} from './users-node-redis.js';

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

interface Prefixing {
  readonly keyPrefix?: unknown;
  readonly redisOptions?: { readonly keyPrefix?: unknown };
}

/**
 * What a user's client puts before every key, and ours does not; `undefined` if that is nothing. A cluster of node-redis shows it
 * once it is connected.
 */
export function keyPrefixOf(client: DuplicableRedisClient | URL): string | undefined {
  const { options, masters } = Object(client) as {
    readonly options?: Prefixing;
    readonly masters?: readonly { readonly client?: { readonly options?: Prefixing } }[];
  };
  const known = [options, options?.redisOptions, masters?.[0]?.client?.options];
  const prefix = known.find((one) => Boolean(one?.keyPrefix))?.keyPrefix;
  return prefix === undefined ? undefined : String(prefix);
}
