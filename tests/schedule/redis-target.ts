import { randomBytes } from 'node:crypto';
import { redisJobs } from '../../src/redis.js';
import type { JobStoreTarget } from '../../src/schedule/conformance/index.js';

/** Jobs on a Redis, each case in a namespace of its own. */
export function redisTarget(name: string, url: () => string): JobStoreTarget {
  return {
    name,
    impossible: {},
    create: async () => {
      const namespace = `jobs-${randomBytes(6).toString('hex')}`;
      const store = redisJobs(url(), { namespace });
      const other = redisJobs(url(), { namespace });
      return {
        ...{ store, other, controls: {} },
        close: async () => {
          await Promise.all([store.close(), other.close()]);
        },
      };
    },
  };
}
