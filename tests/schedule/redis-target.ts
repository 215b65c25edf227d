import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { redisJobs } from '../../src/redis.js';
import type { JobStoreTarget } from '../../src/schedule/conformance/index.js';

/** Jobs on a Redis, each case in a namespace of its own. */
export function redisTarget(
  name: string,
  url: () => string,
  serverOf: (key: string) => Promise<string>,
): JobStoreTarget {
  const corrupt = async (key: string) => {
    const client = new Redis(await serverOf(key));
    await client.hset(key, 'record', 'no record');
    client.disconnect();
  };
  return {
    name,
    impossible: {},
    create: async () => {
      const namespace = `jobs-${randomBytes(6).toString('hex')}`;
      const store = redisJobs(url(), { namespace });
      const other = redisJobs(url(), { namespace });
      return {
        ...{ store, other },
        controls: { corrupt: (job) => corrupt(`{tenure:${namespace}}:job:${job}`) },
        close: async () => {
          await Promise.all([store.close(), other.close()]);
        },
      };
    },
  };
}
