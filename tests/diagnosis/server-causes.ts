import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Cause, Coordinator } from '../../src/index.js';
import { FaultProxy } from '../support/proxy.js';
import { diagnosedWhen, freshNamespace, isWitnessed, type Leader, leader } from './leader.js';

export interface Server {
  readonly port: number;
  /** At its own port, or at that of a proxy before it. */
  coordinator(namespace: string, port?: number): Coordinator;
  kill(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const timeout = 60_000;
/** An attempt to renew has 500 ms then. */
const ttlMs = 6_000;

/** @param tightMs what each answer is late by to leave no room in the time an attempt has; `undefined`: answers are not slowed. */
export function registerCauses(
  store: string,
  { start, tightMs }: { readonly start: () => Promise<Server>; readonly tightMs?: number },
): void {
  describe(`on ${store}, the cause that is named first`, () => {
    let server: Server;
    beforeAll(async () => {
      server = await start();
    }, timeout);
    afterAll(() => server?.stop());

    /** A leader behind a proxy loses its term by what is done to that, which then heals. */
    async function causeOf(fault: (proxy: FaultProxy, led: Leader) => Promise<void>) {
      const namespace = freshNamespace();
      const proxy = await FaultProxy.start(server.port);
      const operator = server.coordinator(namespace);
      const led = await leader(server.coordinator(namespace, proxy.port), { ttlMs });
      try {
        const lost = led.lost();
        await led.renewed(1);
        await fault(proxy, led);
        await lost;
        proxy.heal();
        return await firstFinding(operator);
      } finally {
        proxy.heal();
        await led.close();
        await operator.close();
        await proxy.stop();
      }
    }

    async function firstFinding(operator: Coordinator) {
      const { findings } = await diagnosedWhen(operator, isWitnessed);
      const [first] = findings;
      if (first === undefined) throw new Error('nothing was found');
      return first;
    }

    it.concurrent('is the network, where packets are dropped', { timeout }, async () => {
      const { cause, evidence } = await causeOf(async (proxy) => proxy.up.swallow());
      expect(cause).toBe<Cause>('network');
      expect(evidence[0]).toMatch(/no answer came at all/);
    });

    it.concurrent('is the network, where connections are reset', { timeout }, async () => {
      const { cause, evidence } = await causeOf(async (proxy) => {
        proxy.refuse(true);
        proxy.reset();
      });
      expect(cause).toBe<Cause>('network');
      expect(evidence[0]).toMatch(/the connection broke/);
    });

    it.concurrent('is the store, where it was down for a while', { timeout }, async () => {
      const own = await start();
      const namespace = freshNamespace();
      const operator = own.coordinator(namespace);
      const led = await leader(own.coordinator(namespace), { ttlMs });
      try {
        await led.renewed(1);
        const lost = led.lost();
        await own.kill();
        await lost;
        await own.restart();
        const { cause, evidence } = await firstFinding(operator);
        expect(cause).toBe<Cause>('store-restarted');
        expect(evidence[0]).toMatch(/nothing listened at its address/);
      } finally {
        await led.close();
        await operator.close();
        await own.stop();
      }
    });

    if (tightMs === undefined) return;

    it.concurrent('is the store, where its answers become slow', { timeout }, async () => {
      const { cause, evidence } = await causeOf(async (proxy, led) => {
        proxy.down.set({ kind: 'delay', delayMs: tightMs * 1.5 });
        await led.renewed(1, ({ error, roundTripMs }) => error === undefined && roundTripMs > 140);
        proxy.down.set({ kind: 'delay', delayMs: 8_000 });
      });
      expect(cause).toBe<Cause>('store-overloaded');
      expect(evidence[0]).toMatch(/answers came after .* and usually after/);
    });

    it.concurrent('is the ttl, where usual round trips leave no room in it', {
      timeout,
    }, async () => {
      const namespace = freshNamespace();
      const proxy = await FaultProxy.start(server.port);
      const operator = server.coordinator(namespace);
      const led = await leader(server.coordinator(namespace, proxy.port), { ttlMs });
      try {
        proxy.down.set({ kind: 'delay', delayMs: tightMs });
        const lost = led.lost();
        await led.renewed(3);
        proxy.down.set({ kind: 'delay', delayMs: 8_000 });
        await lost;
        proxy.heal();
        const { cause, advice } = await firstFinding(operator);
        expect(cause).toBe<Cause>('ttl-too-short');
        expect(advice[0]).toMatch(/a ttl of .* instead of 6 s outlasts round trips of/);
      } finally {
        proxy.heal();
        await led.close();
        await operator.close();
        await proxy.stop();
      }
    });
  });
}
