import { Redis } from 'ioredis';
import type { BatchFenceSubject } from '../../../src/fences/conformance/index.js';
import type { RedisBatch, RedisFenceOptions } from '../../../src/fences/redis/index.js';
import { redisFence } from '../../../src/fences/redis/index.js';
import type { DuplicableRedisClient } from '../../../src/redis.js';

/** A conformance subject: two fences on one server, and a client of the user's beside them. */
export function redisSubject(
  source: string | DuplicableRedisClient,
  user: Pick<Redis, 'get'>,
  options: RedisFenceOptions = {},
): BatchFenceSubject<RedisBatch> {
  const fence = redisFence(source, options);
  const other = redisFence(source, options);
  const keyOf = (key: string) => `${fence.hashTag}:data:${encodeURIComponent(key)}`;
  return {
    fence,
    other,
    write: async (batch, key, value) => {
      batch.command('SET', keyOf(key), value);
    },
    read: async (key) => (await user.get(keyOf(key))) ?? undefined,
    async close() {
      await Promise.all([fence.close(), other.close()]);
    },
  };
}

/** Runs `body` with a client of the user's, which is closed afterwards. */
export async function withRedis<Result>(
  url: string,
  body: (redis: Redis) => Promise<Result>,
): Promise<Result> {
  const redis = new Redis(url, { lazyConnect: true });
  redis.on('error', () => {});
  try {
    await redis.connect();
    return await body(redis);
  } finally {
    redis.disconnect();
  }
}
