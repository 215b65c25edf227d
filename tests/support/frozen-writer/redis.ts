import { Redis } from 'ioredis';
import { redisFence } from '../../../src/fences/redis/index.js';
import { startRedis } from '../servers/index.js';
import type { FencedStore, LogSide } from './store.js';

/** A batch is one script, so that nobody is ever frozen between check and write: no claim waits. */
export const store: FencedStore = {
  url: import.meta.url,
  claimLimitMs: 10_000,
  async prepare() {
    const server = await startRedis();
    return { target: server.url, remove: () => server.stop() };
  },
  open: async (target) => openSide(target),
};

function openSide(target: string): LogSide {
  const fence = redisFence(target);
  const redis = new Redis(target);
  redis.on('error', () => {});
  return {
    claim: (token) => fence.claim(token),
    async append(token, isFenced, inside) {
      const { name, term } = token;
      if (isFenced) {
        await fence.transaction(token, async (batch) => {
          batch.command('RPUSH', `log:${name}`, term);
          await inside();
        });
        return;
      }
      await inside();
      await redis.rpush(`log:${name}`, term);
    },
    async count(name, term) {
      const terms = await redis.lrange(`log:${name}`, 0, -1);
      return terms.filter((one) => one === `${term}`).length;
    },
    async close() {
      await fence.close();
      redis.disconnect();
    },
  };
}
