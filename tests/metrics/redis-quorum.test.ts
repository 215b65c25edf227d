import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Leases } from '../../src/leases/index.js';
import { redisQuorumCoordinator } from '../../src/redis.js';
import { type RedisQuorumServers, startRedisQuorum } from '../support/servers/redis-quorum.js';
import { scraped } from './scrape.js';

const timeout = 60_000;

describe('the metrics of leases on five Redis servers', () => {
  let servers: RedisQuorumServers;
  beforeAll(async () => {
    servers = await startRedisQuorum(5);
  }, timeout);
  afterAll(() => servers?.stop());

  it('show a server that is lost, and that it is back with its vote', { timeout }, async () => {
    const coordinator = redisQuorumCoordinator(servers.url, { nodeTimeoutMs: 1_000 });
    const leases = new Leases(coordinator, { id: 'a' });
    const { metrics, scrape } = scraped();
    metrics.observe(leases);
    const told = (event: 'connected' | 'disconnected' | 'node-reseeded', port: number) =>
      new Promise<void>((resolve) => {
        const stop = coordinator.on(event, ({ address }) => {
          if (!address.includes(`:${port}/`)) return;
          stop();
          resolve();
        });
      });
    /** Whoever uses the store finds its servers, and gives one that has forgotten everything its memory back. */
    const asksUntil = async (event: Promise<unknown>) => {
      let isOver = false;
      void event.then(() => {
        isOver = true;
      });
      while (!isOver) {
        await coordinator.read(['payments'], { timeoutMs: 30_000 }).catch(() => {});
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    const up = async () => {
      const samples = [...(await scrape())];
      const nodes = samples.flatMap(([name, value]) => {
        const port = /^tenure_store_node_up\{store="redis-quorum",.*:(\d+)\/0"\}$/.exec(name)?.[1];
        return port === undefined ? [] : [[Number(port), value] as const];
      });
      return servers.nodes.map(({ port }) => new Map(nodes).get(port));
    };
    try {
      const areThere = servers.nodes.map(({ port }) => told('connected', port));
      await asksUntil(Promise.all(areThere));
      expect(await up()).toEqual([1, 1, 1, 1, 1]);
      const [, , third] = servers.nodes;
      if (third === undefined) throw new Error('there are five');
      const isGone = told('disconnected', third.port);
      await third.kill();
      await isGone;
      expect(await up()).toEqual([1, 1, 0, 1, 1]);
      // It has lost its memory, and with that its vote: connected is not enough.
      const isBack = told('node-reseeded', third.port);
      await third.restart({ keepData: false });
      await asksUntil(isBack);
      expect(await up()).toEqual([1, 1, 1, 1, 1]);
    } finally {
      metrics.close();
      await leases.close();
      await coordinator.close();
    }
  });
});
