import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Leases } from '../../src/leases/index.js';
import { redisCoordinator } from '../../src/redis.js';
import { type RedisServer, startRedis } from '../support/servers/index.js';
import { scraped } from './scrape.js';

describe('the metrics of leases on a Redis server', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  }, 60_000);
  afterAll(() => redis.stop());

  it('show that it is there, and when it has gone', { timeout: 60_000 }, async () => {
    const coordinator = redisCoordinator(redis.url);
    const leases = new Leases(coordinator, { id: 'a' });
    const { metrics, scrape } = scraped();
    metrics.observe(leases);
    const lost = new Promise((resolve) => coordinator.onConnectionLost(() => resolve(undefined)));
    await leases.acquire('payments');
    const node = [...(await scrape())].filter(([name]) => name.startsWith('tenure_store_node_up'));
    expect(node).toEqual([
      [
        expect.stringMatching(
          /^tenure_store_node_up\{store="redis",node="redis:\/\/127\.0\.0\.1:\d+\/0"\}$/,
        ),
        1,
      ],
    ]);
    await redis.stop();
    await lost;
    const after = await scrape();
    expect(after.get(node[0]?.[0] ?? '')).toBe(0);
    expect(after.get('tenure_store_connections_lost_total{store="redis"}')).toBeGreaterThan(0);
    expect(after.get('tenure_leases{store="redis",state="uncertain"}')).toBe(1);
    metrics.close();
    await leases.close();
    await coordinator.close();
  });
});
