import { describe, expect, inject, it } from 'vitest';
import { redisCoordinator } from '../../src/redis.js';
import { call } from '../support/call.js';
import { FaultProxy } from '../support/proxy.js';
import { diagnosedWhen, freshNamespace, isWitnessed, leader, name } from './leader.js';

const redisUrl = inject('redisUrl');
const act = { by: 'ana', reason: 'INC-12' };

/** A store behind a proxy, and the way past it by which the operator asks. */
async function behindProxy<T>(
  body: (scene: {
    readonly proxy: FaultProxy;
    readonly coordinator: ReturnType<typeof redisCoordinator>;
    readonly operator: ReturnType<typeof redisCoordinator>;
  }) => Promise<T>,
): Promise<T> {
  const namespace = freshNamespace();
  const proxy = await FaultProxy.start(Number(new URL(redisUrl).port));
  const operator = redisCoordinator(redisUrl, { namespace });
  const url = `redis://127.0.0.1:${proxy.port}`;
  const coordinator = redisCoordinator(url, { namespace, connectTimeoutMs: 500 });
  try {
    return await body({ proxy, coordinator, operator });
  } finally {
    proxy.heal();
    await operator.close();
    await proxy.stop();
  }
}

describe.concurrent('the cause that is named first', { timeout: 60_000 }, () => {
  it('is the network, where packets are dropped', () =>
    behindProxy(async ({ proxy, coordinator, operator }) => {
      const led = await leader(coordinator);
      await led.renewed(1);
      const lost = led.lost();
      proxy.up.swallow();
      await lost;
      proxy.heal();
      const { findings } = await diagnosedWhen(operator, isWitnessed);
      await led.close();
      expect(findings[0]).toMatchObject({ cause: 'network', endingCount: 1, isPlanned: false });
      expect(findings[0]?.evidence[0]).toMatch(
        /no answer came at all.*failed renewals: \d timeout/,
      );
    }));

  it('is the network, where connections are reset', () =>
    behindProxy(async ({ proxy, coordinator, operator }) => {
      const led = await leader(coordinator);
      await led.renewed(1);
      const lost = led.lost();
      proxy.refuse(true);
      proxy.reset();
      await lost;
      proxy.heal();
      const { findings } = await diagnosedWhen(operator, isWitnessed);
      await led.close();
      expect(findings[0]).toMatchObject({ cause: 'network', endingCount: 1 });
      expect(findings[0]?.evidence[0]).toMatch(/the connection broke/);
    }));

  it('is the ttl, where usual round trips leave no room in it', () =>
    behindProxy(async ({ proxy, coordinator, operator }) => {
      const led = await leader(coordinator);
      proxy.down.set({ kind: 'delay', delayMs: 90 });
      await led.renewed(3);
      const lost = led.lost();
      proxy.down.set({ kind: 'delay', delayMs: 800 });
      await lost;
      proxy.heal();
      const { findings } = await diagnosedWhen(operator, isWitnessed);
      await led.close();
      expect(findings[0]).toMatchObject({ cause: 'ttl-too-short', endingCount: 1 });
      expect(findings[0]?.advice[0]).toMatch(/a ttl of .* instead of 3 s outlasts round trips of/);
    }));

  it('is work that throws', async () => {
    const coordinator = redisCoordinator(redisUrl, { namespace: freshNamespace() });
    const led = await leader(coordinator, {
      work: () => {
        throw new TypeError('the customer 4711 is not there');
      },
    });
    const { findings } = await diagnosedWhen(coordinator, ({ period }) => period.lostCount >= 3);
    await led.close();
    expect(findings[0]).toMatchObject({ cause: 'work-failed' });
    expect(findings[0]?.evidence[0]).toMatch(/the work threw TypeError after/);
    expect(JSON.stringify(findings)).not.toContain('4711');
  });

  it('is a deploy, where each gives the name back on purpose', async () => {
    const namespace = freshNamespace();
    const operator = redisCoordinator(redisUrl, { namespace });
    for (const id of ['replica-1', 'replica-2', 'replica-3']) {
      const led = await leader(redisCoordinator(redisUrl, { namespace }), { id });
      await led.close();
    }
    const { findings, period, leaderId } = await diagnosedWhen(operator, () => true);
    await operator.close();
    expect(findings[0]).toMatchObject({ cause: 'deploy', endingCount: 3, isPlanned: true });
    expect(period).toMatchObject({ lostCount: 0, plannedCount: 3, termCount: 3 });
    expect(leaderId).toBeUndefined();
  });

  it('is an operator, where one revoked the term', async () => {
    const namespace = freshNamespace();
    const operator = redisCoordinator(redisUrl, { namespace });
    const led = await leader(redisCoordinator(redisUrl, { namespace }), { ttlMs: 1_500 });
    const lost = led.lost();
    await operator.revoke(name, act, call);
    await lost;
    const { findings } = await diagnosedWhen(operator, ({ period }) => period.plannedCount > 0);
    await led.close();
    await operator.close();
    expect(findings[0]).toMatchObject({ cause: 'operator', endingCount: 1, isPlanned: true });
  });
});
