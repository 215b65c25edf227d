import { describe, expect, it } from 'vitest';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import {
  Leases,
  type LeasesOptions,
  type RenewalReport,
  resolveTiming,
} from '../../src/leases/index.js';
import { sleep } from '../../src/time/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';
import { altered } from '../support/altered.js';
import { createFixture, defined } from './fixture.js';

const shardNames = Array.from({ length: 256 }, (_, index) => `chat/shards/${index}`);

describe('the renewal of many leases', () => {
  it('is one request for 256 of them', async () => {
    const { process, runtime } = createFixture();
    const { leases } = process('a');
    const counts: number[] = [];
    leases.events.on('renewal', ({ leaseCount }) => counts.push(leaseCount));
    await leases.acquireMany(shardNames);
    await runtime.advance(30_500);
    expect(counts).toEqual([256, 256, 256]);
  });

  it('answers each for itself: one that vanished is lost, 255 stay held', async () => {
    const { process, runtime, store } = createFixture();
    const { leases, log } = process('a');
    await leases.acquireMany(shardNames);
    store.deleteRecord('chat/shards/17');
    await runtime.advance(10_001);
    expect(log.filter((line) => line.startsWith('lost'))).toEqual(['lost chat/shards/17 vanished']);
    expect(leases.live.every((lease) => lease.state === 'held')).toBe(true);
    expect(leases.live).toHaveLength(255);
  });

  it('falls into one step for leases that were acquired at different times', async () => {
    const { process, runtime } = createFixture();
    const { leases } = process('a');
    for (let index = 0; index < 8; index++) {
      await leases.acquire(`n${index}`);
      await runtime.advance(500);
    }
    await runtime.advance(20_000);
    const counts: number[] = [];
    leases.events.on('renewal', ({ leaseCount }) => counts.push(leaseCount));
    await runtime.advance(30_000);
    expect(counts).toEqual([8, 8, 8]);
  });

  it('goes on after a request that a coordinator never answers', async () => {
    const runtime = new VirtualRuntime();
    const inner = memoryCoordinator(new MemoryStore({ runtime }), { runtime });
    let calls = 0;
    const coordinator = altered(inner, {
      renew: (requests, call) =>
        ++calls === 1 ? new Promise(() => undefined) : inner.renew(requests, call),
    });
    const leases = new Leases(coordinator, { id: 'a', runtime });
    const lease = defined(await leases.acquire('payments'));
    await runtime.advance(60_000);
    expect(lease.state).toBe('held');
    expect(calls).toBeGreaterThan(2);
  });

  it('of long leases does not hold up that of short ones when it hangs', async () => {
    const runtime = new VirtualRuntime();
    const inner = memoryCoordinator(new MemoryStore({ runtime }), { runtime });
    const coordinator = altered(inner, {
      renew: (requests, call) =>
        requests.some(({ name }) => name === 'long')
          ? new Promise(() => undefined)
          : inner.renew(requests, call),
    });
    const leases = new Leases(coordinator, { id: 'a', runtime });
    await leases.acquire('long');
    const short = defined(await leases.acquire('short', { ttlMs: 300 }));
    await runtime.advance(15_000);
    expect(short.state).toBe('held');
  });

  it('that is never answered does not hold up the deadline', async () => {
    const runtime = new VirtualRuntime();
    const inner = memoryCoordinator(new MemoryStore({ runtime }), { runtime });
    let calls = 0;
    const coordinator = altered(inner, {
      renew: (requests, call) =>
        ++calls === 1 ? inner.renew(requests, call) : new Promise(() => undefined),
    });
    const leases = new Leases(coordinator, { id: 'a', runtime });
    const { signal } = defined(await leases.acquire('payments'));
    await runtime.advance(29_999);
    expect(signal.aborted).toBe(false);
    await runtime.advance(1);
    expect(signal.aborted).toBe(true);
  });

  it('backs off while the store refuses: a handful of tries until the deadline, each with jitter', async () => {
    const { process, runtime } = createFixture();
    const { leases, link } = process('a');
    await leases.acquire('payments');
    const triedAtMs: number[] = [];
    leases.events.on('renewal', () => triedAtMs.push(runtime.now().monotonicMs));
    link.cut();
    await runtime.advance(20_000);
    expect(leases.live).toEqual([]);
    expect(triedAtMs[0]).toBe(10_000);
    expect(triedAtMs.length).toBeGreaterThanOrEqual(4);
    expect(triedAtMs.length).toBeLessThan(15);
    const pauses = triedAtMs.slice(1).map((atMs, index) => atMs - (triedAtMs[index] ?? 0));
    expect(new Set(pauses).size).toBe(pauses.length);
  });

  it('has one attempt under way at a time, also if preparing it finds the wall clock stepped', async () => {
    const runtime = new VirtualRuntime();
    const inner = memoryCoordinator(new MemoryStore({ runtime }), { runtime });
    let underWay = 0;
    let mostUnderWay = 0;
    const coordinator = altered(inner, {
      renew: async (requests, call) => {
        mostUnderWay = Math.max(mostUnderWay, ++underWay);
        await sleep(runtime, 100);
        underWay -= 1;
        return inner.renew(requests, call);
      },
    });
    const leases = new Leases(coordinator, { id: 'a', runtime });
    await leases.acquire('payments');
    await runtime.advance(9_999);
    runtime.stepWall(3_600_000);
    await runtime.advance(20_000);
    expect(mostUnderWay).toBe(1);
  });

  it('counts a coordinator that answers too few as a failure of those it left out', async () => {
    const runtime = new VirtualRuntime();
    const inner = memoryCoordinator(new MemoryStore({ runtime }), { runtime });
    let calls = 0;
    const coordinator = altered(inner, {
      renew: async (requests, call) => {
        calls += 1;
        const results = await inner.renew(requests, call);
        return results.slice(
          0,
          requests.findIndex(({ name }) => name === 'two'),
        );
      },
    });
    const leases = new Leases(coordinator, { id: 'a', runtime });
    const [first, second] = await leases.acquireMany(['one', 'two']);
    await runtime.advance(19_999);
    const states = [first, second].map((outcome) =>
      outcome?.outcome === 'granted' ? outcome.lease.state : '',
    );
    expect(states).toEqual(['held', 'uncertain']);
    await runtime.advance(1);
    expect(leases.live.map(({ name }) => name)).toEqual(['one']);
    expect(calls).toBeLessThan(20);
  });

  it('writes changed metadata at once, and again if its request failed', async () => {
    const { process, runtime } = createFixture();
    const { leases, link } = process('a');
    const lease = defined(await leases.acquire('payments', { metadata: '{"state":"joining"}' }));
    link.disturb('request', 'drop', { operation: 'renew', count: 1 });
    lease.metadata = '{"state":"active"}';
    await runtime.advance(9_000);
    expect(await leases.read('payments')).toMatchObject({ metadata: '{"state":"active"}' });
  });
});

describe('the report of a renewal', () => {
  const reported = async (options?: LeasesOptions) => {
    const fixture = createFixture();
    const { leases, link } = fixture.process('a', options);
    const reports: RenewalReport[] = [];
    leases.events.on('renewal', (report) => reports.push(report));
    await leases.acquire('payments');
    return { ...fixture, leases, link, reports };
  };

  it('tells how long it took, and what the lease had left when the answer came', async () => {
    const { runtime, reports } = await reported();
    await runtime.advance(10_001);
    const [first] = reports;
    expect(first).toMatchObject({ leaseCount: 1, roundTripMs: 0, error: undefined, lateMs: 0 });
    expect(first?.shortestRemainingMs).toBeCloseTo(10_000);
  });

  it('of one that had no answer tells what is left after waiting for it', async () => {
    const { runtime, link, reports } = await reported();
    link.hang();
    await runtime.advance(16_000);
    const { attemptTimeoutMs } = resolveTiming({});
    expect(reports[0]).toMatchObject({ roundTripMs: attemptTimeoutMs });
    expect(reports[0]?.shortestRemainingMs).toBeCloseTo(10_000 - attemptTimeoutMs);
    expect(reports[0]?.error).toBeDefined();
  });

  it('tells the lease that is nearest its deadline, and not how long one may be held at all', async () => {
    const { runtime, leases, reports } = await reported();
    await runtime.advance(4_000);
    await leases.acquire('held-for-short', { maxHoldMs: 12_000 });
    await runtime.advance(6_001);
    expect(reports[0]?.leaseCount).toBe(2);
    expect(reports[0]?.shortestRemainingMs).toBeCloseTo(10_000);
  });

  it('tells how late it began after the loop stood still', async () => {
    const { runtime, reports } = await reported();
    runtime.freeze(14_000);
    await runtime.advance(1);
    expect(reports[0]).toMatchObject({ lateMs: 4_000 });
    expect(reports[0]?.shortestRemainingMs).toBeCloseTo(6_000);
  });
});
