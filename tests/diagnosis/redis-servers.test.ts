import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { redisCoordinator } from '../../src/redis.js';
import { type RedisServer, startRedis, startRedisSentinels } from '../support/servers/index.js';
import { diagnosedWhen, freshNamespace, isWitnessed, leader } from './leader.js';

const connectTimeoutMs = 500;

async function onServer(server: RedisServer, body: (redis: Redis) => Promise<void>): Promise<void> {
  const redis = new Redis(server.url, { maxRetriesPerRequest: 0 });
  redis.on('error', () => {});
  try {
    await body(redis);
  } finally {
    redis.disconnect();
    await server.stop();
  }
}

const script = 'for step = 1, ARGV[1] do end';

/** How many steps of the script keep the server busy for a millisecond. */
async function stepsPerMs(redis: Redis): Promise<number> {
  const startedMs = performance.now();
  await redis.eval(script, 0, 5_000_000);
  return 5_000_000 / (performance.now() - startedMs);
}

/** Keeps the server busy, one script after the other, until it is told to stop. */
function burden(server: RedisServer, steps: number): () => Promise<void> {
  const redis = new Redis(server.url);
  let isOver = false;
  const going = (async () => {
    while (!isOver) await redis.eval(script, 0, Math.round(steps));
  })();
  return async () => {
    isOver = true;
    await going;
    redis.disconnect();
  };
}

describe.concurrent('the cause that is named first', { timeout: 60_000 }, () => {
  it('is the store, where it has too much to do', async () => {
    const server = await startRedis();
    await onServer(server, async (redis) => {
      const namespace = freshNamespace();
      const coordinator = redisCoordinator(server.url, { namespace, connectTimeoutMs });
      const led = await leader(coordinator, { ttlMs: 6_000 });
      await led.renewed(1);
      const perMs = await stepsPerMs(redis);
      const some = Array.from({ length: 3 }, () => burden(server, perMs * 80));
      await led.renewed(1, ({ error, roundTripMs }) => error === undefined && roundTripMs > 100);
      const lost = led.lost();
      const more = Array.from({ length: 12 }, () => burden(server, perMs * 150));
      await lost;
      await Promise.all([...some, ...more].map((stop) => stop()));
      const operator = redisCoordinator(server.url, { namespace });
      const { findings } = await diagnosedWhen(operator, isWitnessed);
      await led.close();
      await operator.close();
      expect(findings[0]).toMatchObject({ cause: 'store-overloaded' });
      expect(findings[0]?.evidence[0]).toMatch(/answers came after .* and usually after/);
    });
  });

  it('is the store, where it was down for a while', async () => {
    const server = await startRedis({ appendonly: 'always' });
    await onServer(server, async () => {
      const namespace = freshNamespace();
      const led = await leader(redisCoordinator(server.url, { namespace, connectTimeoutMs }));
      await led.renewed(1);
      const lost = led.lost();
      await server.kill();
      await lost;
      await server.restart({ keepData: true });
      const operator = redisCoordinator(server.url, { namespace });
      const { findings } = await diagnosedWhen(operator, isWitnessed);
      await led.close();
      await operator.close();
      expect(findings[0]).toMatchObject({ cause: 'store-restarted', endingCount: 1 });
      expect(findings[0]?.evidence[0]).toMatch(/nothing listened at its address/);
    });
  });

  it('is a failover, where what its address leads to was a replica for a while', async () => {
    const [server, other] = await Promise.all([startRedis(), startRedis()]);
    await onServer(other, () =>
      onServer(server, async (redis) => {
        const namespace = freshNamespace();
        const led = await leader(redisCoordinator(server.url, { namespace, connectTimeoutMs }));
        await led.renewed(1);
        const lost = led.lost();
        await redis.replicaof('127.0.0.1', other.port);
        await lost;
        await redis.replicaof('NO', 'ONE');
        const operator = redisCoordinator(server.url, { namespace });
        const { findings } = await diagnosedWhen(operator, isWitnessed);
        await led.close();
        await operator.close();
        expect(findings[0]).toMatchObject({ cause: 'failover', endingCount: 1 });
        expect(findings[0]?.evidence[0]).toMatch(/no server took renewals/);
      }),
    );
  });

  it('is the store, where it was restarted without its data', async () => {
    const server = await startRedis();
    await onServer(server, async () => {
      const namespace = freshNamespace();
      const coordinator = redisCoordinator(server.url, { namespace, connectTimeoutMs });
      const led = await leader(coordinator, { ttlMs: 20_000 });
      const lost = led.lost();
      await server.restart({ keepData: false });
      expect(await lost).toMatchObject({ reason: 'vanished' });
      const operator = redisCoordinator(server.url, { namespace });
      const { findings } = await diagnosedWhen(operator, isWitnessed);
      await led.close();
      await operator.close();
      expect(findings[0]).toMatchObject({ cause: 'store-restarted', endingCount: 1 });
      expect(findings[0]?.evidence[0]).toMatch(/the connection had broken/);
    });
  });

  it('is the store, where it evicts leases', async () => {
    const server = await startRedis();
    await onServer(server, async (redis) => {
      const namespace = freshNamespace();
      const led = await leader(redisCoordinator(server.url, { namespace, connectTimeoutMs }));
      await led.renewed(1);
      const lost = led.lost();
      await redis.config('SET', 'maxmemory-policy', 'allkeys-random');
      await redis.config('SET', 'maxmemory', '1mb');
      // All that does not fit goes, and more comes: soon there is nothing left of ours.
      let isOver = false;
      const filling = (async () => {
        for (let key = 0; !isOver; key++)
          await redis.set(`junk:${key}`, 'x'.repeat(1_000)).catch(() => {});
      })();
      expect(await lost).toMatchObject({ reason: 'vanished' });
      isOver = true;
      await filling;
      await redis.config('SET', 'maxmemory', '0');
      const operator = redisCoordinator(server.url, { namespace });
      const { findings } = await diagnosedWhen(operator, isWitnessed);
      await led.close();
      await operator.close();
      expect(findings[0]).toMatchObject({ cause: 'record-removed' });
      expect(findings[0]?.advice[0]).toMatch(/noeviction/);
    });
  });

  it('is the clock of the store, where it was set forward', async () => {
    const server = await startRedis({ clock: true });
    await onServer(server, async () => {
      const namespace = freshNamespace();
      const coordinator = redisCoordinator(server.url, { namespace, connectTimeoutMs });
      const led = await leader(coordinator, { ttlMs: 6_000 });
      await led.renewed(1);
      const lost = led.lost();
      server.stepClock(3_600_000);
      await lost;
      const operator = redisCoordinator(server.url, { namespace });
      const { findings } = await diagnosedWhen(operator, isWitnessed);
      await led.close();
      await operator.close();
      expect(findings[0]).toMatchObject({ cause: 'clock-stepped', endingCount: 1 });
    });
  });
});

describe('behind sentinels, the cause that is named first', { timeout: 60_000 }, () => {
  it('is the failover', async () => {
    const sentinels = await startRedisSentinels({ downAfterMs: 3_000 });
    try {
      const namespace = freshNamespace();
      const led = await leader(redisCoordinator(sentinels.url, { namespace, connectTimeoutMs }));
      await led.renewed(1);
      const lost = led.lost();
      await (await sentinels.master()).kill();
      await lost;
      const operator = redisCoordinator(sentinels.url, { namespace });
      const { findings } = await diagnosedWhen(operator, isWitnessed);
      await led.close();
      await operator.close();
      expect(findings[0]).toMatchObject({ cause: 'failover', endingCount: 1 });
    } finally {
      await sentinels.stop();
    }
  });
});
