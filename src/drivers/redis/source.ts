import { OptionError } from '../../errors/index.js';
import { type Endpoint, endpointText } from '../endpoint.js';
import type { DuplicableRedisClient, RedisNode, RedisSource } from './client.js';
import { ClusterSource } from './cluster.js';
import { addressOf, checkNodeAddressMap, type NodeAddressMap } from './endpoint.js';
import { openIoredis } from './ioredis.js';
import { SentinelSource } from './sentinels.js';
import { type Login, parseRedisUrl, type RedisUrl } from './url.js';
import { sourceFromClient } from './users-client.js';

export interface RedisSourceOptions {
  /** The user as whom sentinels are asked. Default: none. Only with a `redis+sentinel://` URL. */
  readonly sentinelUsername?: string | undefined;
  /** The password of the sentinels. Default: none. Only with a `redis+sentinel://` URL. */
  readonly sentinelPassword?: string | undefined;
  /**
   * Where the servers are that sentinels and nodes of a cluster tell of, if not where they say: behind a tunnel, or an
   * address translation. Each key and value is `host:port`. Default: they are where they say.
   */
  readonly nodeAddressMap?: NodeAddressMap | undefined;
}

/**
 * Where connections come from: a URL (see {@link parseRedisUrl}), or a client of the user's.
 *
 * @throws {OptionError} if it is neither, or a client whose options cannot be had.
 */
export function redisSource(
  urlOrClient: string | URL | DuplicableRedisClient,
  options: RedisSourceOptions = {},
): RedisSource {
  const isUrl = typeof urlOrClient === 'string' || urlOrClient instanceof URL;
  const url = isUrl ? parseRedisUrl(String(urlOrClient)) : undefined;
  checkUse(options, url);
  return url === undefined
    ? sourceFromClient(urlOrClient as DuplicableRedisClient, options.nodeAddressMap ?? {})
    : sourceFromUrl(url, options);
}

function checkUse(options: RedisSourceOptions, url: RedisUrl | undefined): void {
  checkNodeAddressMap(options.nodeAddressMap);
  for (const name of ['sentinelUsername', 'sentinelPassword'] as const) {
    if (options[name] === undefined) continue;
    if (url?.topology !== 'sentinel')
      throw new OptionError(
        name,
        'hidden',
        'is given, and no sentinel is asked',
        'leave it out, or use a redis+sentinel:// URL; a client has its own',
      );
    if (typeof options[name] !== 'string')
      throw new OptionError(name, 'hidden', 'is not a text', 'pass a text, or leave it out');
  }
}

function sourceFromUrl(url: RedisUrl, options: RedisSourceOptions): RedisSource {
  const addressMap = options.nodeAddressMap ?? {};
  switch (url.topology) {
    case 'single':
      return singleSource(nodeAt(url.place, url.db, url.login));
    case 'sentinel': {
      const login = {
        ...(url.login.tls === undefined ? {} : { tls: url.login.tls }),
        ...(options.sentinelUsername === undefined ? {} : { username: options.sentinelUsername }),
        ...(options.sentinelPassword === undefined ? {} : { password: options.sentinelPassword }),
      };
      return new SentinelSource({
        sentinels: url.sentinels,
        masterName: url.masterName,
        isTls: url.login.tls !== undefined,
        addressMap,
        sentinelAt: (endpoint) => ({
          address: `sentinel ${endpointText(endpoint)}`,
          isTls: url.login.tls !== undefined,
          open: (timeoutMs) => openIoredis({ ...endpoint, ...login }, timeoutMs),
        }),
        nodeAt: (endpoint) => nodeAt(endpoint, url.db, url.login),
      });
    }
    case 'cluster':
      return new ClusterSource({
        seeds: url.nodes,
        isTls: url.login.tls !== undefined,
        addressMap,
        nodeAt: (endpoint) => nodeAt(endpoint, 0, url.login),
      });
  }
}

function nodeAt(endpoint: Endpoint, db: number, login: Login): RedisNode {
  const { host, port } = endpoint;
  return {
    address: addressOf(endpoint, db, login.tls),
    open: (timeoutMs) => openIoredis({ host, port, db, ...login }, timeoutMs),
  };
}

/** One server that never moves. */
function singleSource(node: RedisNode): RedisSource {
  return { topology: 'single', address: node.address, locate: async () => [node] };
}
