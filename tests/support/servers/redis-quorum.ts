import { type RedisOptions, type RedisServer, startRedis } from './redis.js';

/** Independent masters of the caller's own. */
export interface RedisQuorumServers {
  readonly nodes: readonly RedisServer[];
  /** Of all of them. */
  readonly url: string;
  stop(): Promise<void>;
}

export async function startRedisQuorum(
  count = 5,
  options: Omit<RedisOptions, 'port' | 'dir'> = {},
): Promise<RedisQuorumServers> {
  const starts = await Promise.allSettled(
    Array.from({ length: count }, () => startRedis({ appendonly: 'always', ...options })),
  );
  const nodes = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  const failed = starts.find((start) => start.status === 'rejected');
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  return {
    nodes,
    url: `redis+quorum://${nodes.map(({ host, port }) => `${host}:${port}`).join(',')}`,
    stop,
  };
}
