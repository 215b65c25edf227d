import { describe, expect, it } from 'vitest';
import { TwoThreads } from './two-threads.js';

const ttlMs = 3_000;
/** A lease is given up two thirds of the ttl after it was last renewed, and the store keeps it for the rest. */
const latestMs = ttlMs * 0.99 - 10;

describe('an event loop that stands still for too long', () => {
  const stallLimitMs = 4_000;

  it('has lost its leases as stalled, at the first look; another has the name meanwhile', async () => {
    const threads = new TwoThreads({ ttlMs, stallLimitMs });
    const lease = await threads.acquire('payments');
    await threads.block(stallLimitMs + ttlMs + 10);
    await threads.takeOver('payments');
    expect([lease.state, lease.endReason]).toEqual(['lost', 'stalled']);
    expect(() => lease.assertHeld()).toThrow(/event loop stood still/);
  });

  it('is renewed for no more than the limit: the store has the name back a ttl later at most', async () => {
    const threads = new TwoThreads({ ttlMs, stallLimitMs });
    const lease = await threads.acquire('payments');
    await threads.block(stallLimitMs - 10);
    expect(await threads.recordOf('payments')).toMatchObject({ term: lease.term });
    await threads.block(ttlMs + 20);
    expect(await threads.recordOf('payments')).toBeUndefined();
    expect(lease.endReason).toBe('stalled');
  });

  it('has lost them although the thread had no time to notice', async () => {
    const threads = new TwoThreads({ ttlMs, stallLimitMs: 500 });
    const lease = await threads.acquire('payments');
    threads.freeze(500);
    expect([lease.state, lease.endReason]).toEqual(['lost', 'stalled']);
  });

  it('has lost all it held, with one event each, and the signals abort without a look', async () => {
    const threads = new TwoThreads({ ttlMs, stallLimitMs });
    const leases = [await threads.acquire('one'), await threads.acquire('two')];
    const signals = leases.map(({ signal }) => signal);
    await threads.block(stallLimitMs + 10);
    await threads.advance(0);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(threads.log).toEqual(['lost one stalled', 'lost two stalled']);
    await threads.advance(10_000);
    expect(threads.log).toHaveLength(2);
  });

  it('keeps its leases when it turns just in time, however often', async () => {
    const threads = new TwoThreads({ ttlMs, stallLimitMs });
    const lease = await threads.acquire('payments');
    for (let count = 0; count < 20; count++) {
      await threads.block(stallLimitMs - 50);
      await threads.advance(0);
    }
    expect(lease.state).toBe('held');
  });

  it('counts while leases are held only, and anew for those that are acquired afterwards', async () => {
    const threads = new TwoThreads({ ttlMs, stallLimitMs });
    const first = await threads.acquire('payments');
    first.supersede();
    await threads.advance(10);
    await threads.block(10 * stallLimitMs);
    const second = await threads.acquire('orders');
    await threads.block(stallLimitMs + 10);
    expect(second.endReason).toBe('stalled');
    const third = await threads.acquire('orders-2');
    await threads.advance(2 * stallLimitMs);
    expect(third.state).toBe('held');
  });

  it('is not hidden by an acquisition that comes before any look', async () => {
    const threads = new TwoThreads({ ttlMs, stallLimitMs: 500 });
    const first = await threads.acquire('one');
    threads.freeze(600);
    const second = await threads.acquire('two');
    expect([first.endReason, second.endReason]).toEqual(['stalled', undefined]);
    expect(second.state).toBe('held');
  });

  it('counts a suspended machine as standing still', async () => {
    const threads = new TwoThreads({ ttlMs, stallLimitMs: 1_000 });
    const lease = await threads.acquire('payments');
    threads.suspend(1_000);
    expect(lease.endReason).toBe('stalled');
  });
});

describe("a stall with onStall: 'exit'", () => {
  it('ends the process at the limit, and not before', async () => {
    const threads = new TwoThreads({ ttlMs, stallLimitMs: 4_000, onStall: 'exit' });
    await threads.acquire('payments');
    await threads.block(3_990);
    expect(threads.exitCount).toBe(0);
    await threads.block(15);
    expect(threads.exitCount).toBe(1);
    expect(await threads.recordOf('payments')).toBeDefined();
  });

  it('ends it before the store gives away a lease that could not be renewed, long before the limit', async () => {
    const threads = new TwoThreads({ ttlMs, stallLimitMs: 60_000, onStall: 'exit' });
    await threads.acquire('payments');
    threads.link.cut();
    await threads.block(latestMs - 10);
    expect(threads.exitCount).toBe(0);
    await threads.block(15);
    expect(threads.exitCount).toBe(1);
    expect(await threads.recordOf('payments')).toBeDefined();
  });

  it('ends it before the store gives away a lease that an operator has revoked meanwhile', async () => {
    const threads = new TwoThreads({ ttlMs, stallLimitMs: 60_000, onStall: 'exit' });
    await threads.acquire('payments');
    await threads.revoke('payments');
    await threads.block(latestMs - 10);
    expect(threads.exitCount).toBe(0);
    await threads.block(15);
    expect(threads.exitCount).toBe(1);
    expect(await threads.recordOf('payments')).toBeDefined();
  });

  it('spares a process whose loop turns and knows that the lease was lost', async () => {
    const threads = new TwoThreads({ ttlMs, stallLimitMs: 4_000, onStall: 'exit' });
    const lease = await threads.acquire('payments');
    threads.link.cut();
    await threads.advance(2_050);
    expect(lease.state).toBe('lost');
    await threads.block(20_000);
    expect(threads.exitCount).toBe(0);
  });

  it('spares a process that has released what it held before it stands still', async () => {
    const threads = new TwoThreads({ ttlMs, stallLimitMs: 500, onStall: 'exit' });
    const lease = await threads.acquire('payments');
    await lease.release();
    await threads.block(20_000);
    expect(threads.exitCount).toBe(0);
  });

  it('spares a healthy process for ever', async () => {
    const threads = new TwoThreads({ ttlMs, stallLimitMs: 500, onStall: 'exit' });
    const lease = await threads.acquire('payments');
    await threads.advance(20_000);
    expect([lease.state, threads.exitCount]).toEqual(['held', 0]);
  });

  it('ends a process that was frozen as a whole with the first look, if the thread has not yet', async () => {
    const threads = new TwoThreads({ ttlMs, stallLimitMs: 500, onStall: 'exit' });
    const lease = await threads.acquire('payments');
    threads.freeze(500);
    expect(lease.state).toBe('lost');
    expect(threads.exitCount).toBe(1);
  });
});
