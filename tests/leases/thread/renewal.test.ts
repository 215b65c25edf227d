import { describe, expect, it } from 'vitest';
import { ClosedError, UnreachableError } from '../../../src/errors/index.js';
import { resolveTiming } from '../../../src/leases/options.js';
import { TwoThreads } from './two-threads.js';

const ttlMs = 3_000;

describe('a lease that a thread renews', () => {
  it('is held by the thread while the main thread stands still, and has its fresh deadline at the first look', async () => {
    const threads = new TwoThreads({ ttlMs });
    const lease = await threads.acquire('payments');
    await threads.block(2 * ttlMs + 500);
    expect(lease.state).toBe('held');
    expect(lease.remainingMs).toBeGreaterThan(ttlMs / 3 - 20);
    expect(threads.log).toEqual([]);
    expect(await threads.recordOf('payments')).toMatchObject({ state: 'held', term: lease.term });
  });

  it('lets a hundred blocks of half a ttl pass without a doubt', async () => {
    const threads = new TwoThreads({ ttlMs });
    const lease = await threads.acquire('payments');
    for (let count = 0; count < 100; count++) {
      await threads.block(ttlMs / 2);
      expect(lease.state).toBe('held');
      await threads.advance(10);
    }
    expect(threads.log).toEqual([]);
  });

  it('is lost when both threads were frozen past its deadline', async () => {
    const threads = new TwoThreads({ ttlMs });
    const lease = await threads.acquire('payments');
    await threads.advance(5_000);
    threads.freeze(ttlMs);
    expect(lease.state).toBe('lost');
    expect(lease.endReason).toBe('expired');
    await threads.advance(5_000);
    expect(lease.state).toBe('lost');
    expect(await threads.recordOf('payments')).toBeUndefined();
  });

  it('is lost when the machine was suspended past its deadline', async () => {
    const threads = new TwoThreads({ ttlMs });
    const lease = await threads.acquire('payments');
    threads.suspend(ttlMs);
    expect(lease.state).toBe('lost');
  });

  it('is uncertain after the wall clock was stepped, until the thread has renewed it', async () => {
    const threads = new TwoThreads({ ttlMs });
    const lease = await threads.acquire('payments');
    await threads.advance(100);
    threads.stepWall(3_600_000);
    expect(lease.state).toBe('uncertain');
    await threads.advance(50);
    expect(lease.state).toBe('held');
    expect(threads.log).toEqual(['uncertain payments clock-stepped', 'recovered payments']);
  });

  it('is uncertain as soon as one attempt of the thread fails, and held again when one succeeds', async () => {
    const threads = new TwoThreads({ ttlMs });
    const lease = await threads.acquire('payments');
    threads.link.cut();
    await threads.advance(1_020);
    expect(lease.state).toBe('uncertain');
    expect(threads.reports.at(-1)?.error).toBeInstanceOf(UnreachableError);
    threads.link.heal();
    await threads.advance(300);
    expect(lease.state).toBe('held');
    expect(threads.log).toEqual(['uncertain payments renewal-failed', 'recovered payments']);
  });

  it('shows a failed attempt at the first look after a block, before any message', async () => {
    const threads = new TwoThreads({ ttlMs });
    const lease = await threads.acquire('payments');
    threads.link.cut();
    await threads.block(1_500);
    expect(lease.state).toBe('uncertain');
  });

  it('is held again at the first look if what failed meanwhile has healed', async () => {
    const threads = new TwoThreads({ ttlMs });
    const lease = await threads.acquire('payments');
    threads.link.cut();
    await threads.advance(1_100);
    threads.link.heal();
    await threads.block(2_000);
    expect(lease.state).toBe('held');
  });

  it('is lost as unreachable when the thread cannot renew it, also during a block', async () => {
    const threads = new TwoThreads({ ttlMs });
    const lease = await threads.acquire('payments');
    threads.link.cut();
    await threads.block(2_500);
    expect([lease.state, lease.endReason]).toEqual(['lost', 'unreachable']);
  });

  it('is never revived by the thread once it was lost in between, however fresh its renewals are', async () => {
    const threads = new TwoThreads({ ttlMs });
    const lease = await threads.acquire('payments');
    threads.link.disturb('reply', 'hold', { operation: 'renew' });
    await threads.block(2_200);
    threads.link.heal();
    threads.link.flush();
    await threads.block(2_000);
    expect(lease.state).toBe('lost');
  });

  it.each(['superseded', 'vanished'] as const)(
    'is lost as %s at the first look after the thread heard it',
    async (reason) => {
      const threads = new TwoThreads({ ttlMs });
      const lease = await threads.acquire('payments');
      threads.store.deleteRecord('payments');
      if (reason === 'superseded') await threads.takeOver('payments');
      await threads.block(1_100);
      expect([lease.state, lease.endReason]).toEqual(['lost', reason]);
    },
  );

  it('ends by its longest hold although nobody looks, and is renewed no more', async () => {
    const threads = new TwoThreads({ ttlMs });
    const lease = await threads.acquire('payments', 4_000);
    await threads.block(8_000);
    expect([lease.state, lease.endReason]).toEqual(['lost', 'max-hold']);
    expect(await threads.recordOf('payments')).toBeUndefined();
  });

  it('is renewed no more once it was released, ended or superseded here', async () => {
    const threads = new TwoThreads({ ttlMs });
    const lease = await threads.acquire('payments');
    lease.supersede();
    await threads.advance(10);
    const before = threads.reports.length;
    await threads.advance(2 * ttlMs);
    expect(threads.reports.length).toBe(before);
    expect(threads.main.pendingTimerCount + threads.other.pendingTimerCount).toBe(0);
  });

  it('tells of its end by an event, although nobody looks', async () => {
    const threads = new TwoThreads({ ttlMs });
    const { signal } = await threads.acquire('payments');
    threads.store.deleteRecord('payments');
    await threads.advance(1_050);
    expect(signal.aborted).toBe(true);
    expect(threads.log).toEqual(['lost payments vanished']);
  });

  it('has its changed metadata written at once, and again if that failed', async () => {
    const threads = new TwoThreads({ ttlMs });
    const lease = await threads.acquire('payments');
    lease.metadata = '{"state":"active"}';
    await threads.advance(20);
    expect(await threads.recordOf('payments')).toMatchObject({ metadata: '{"state":"active"}' });
    threads.link.disturb('request', 'drop', { operation: 'renew', count: 1 });
    lease.metadata = '{"state":"draining"}';
    await threads.advance(900);
    expect(await threads.recordOf('payments')).toMatchObject({ metadata: '{"state":"draining"}' });
  });

  it('travels with all the others in one request', async () => {
    const threads = new TwoThreads({ ttlMs });
    for (const name of ['one', 'two', 'three']) await threads.acquire(name);
    await threads.advance(3_500);
    expect(threads.reports.map(({ leaseCount }) => leaseCount)).toEqual([3, 3, 3]);
  });
});

describe('a renewing thread that ends', () => {
  it('leaves its leases uncertain, and lost at their deadlines; the report carries the error', async () => {
    const threads = new TwoThreads({ ttlMs });
    const lease = await threads.acquire('payments');
    await threads.advance(1_200);
    await threads.crash(new Error('out of memory'));
    expect(lease.state).toBe('uncertain');
    expect(threads.reports.at(-1)).toMatchObject({ leaseCount: 1, roundTripMs: 0 });
    // Of the 2,000 ms that it may be kept, which count from the renewal at 1,000 ms.
    expect(threads.reports.at(-1)?.shortestRemainingMs).toBeCloseTo(1_800, -2);
    expect(threads.reports.at(-1)?.error).toBeInstanceOf(UnreachableError);
    expect(String(threads.reports.at(-1)?.error)).toContain('out of memory');
    await threads.advance(1_750);
    expect(lease.state).toBe('uncertain');
    await threads.advance(100);
    expect([lease.state, lease.endReason]).toEqual(['lost', 'unreachable']);
  });

  it('is followed by a new one with the next acquisition', async () => {
    const threads = new TwoThreads({ ttlMs });
    await threads.acquire('one');
    await threads.crash(new Error('out of memory'));
    const lease = await threads.acquire('two');
    await threads.block(2 * ttlMs);
    expect(lease.state).toBe('held');
    expect(threads.startCount).toBe(2);
  });

  it('before it was ready refuses the acquisition; nothing is asked of the store', async () => {
    const threads = new TwoThreads({ ttlMs, isSilent: true });
    const acquiring = threads.acquire('payments');
    await threads.crash(new Error('no such module'));
    await expect(acquiring).rejects.toThrow(UnreachableError);
    await expect(acquiring).rejects.toThrow(/no such module.*next acquisition starts a new one/s);
    expect(await threads.recordOf('payments')).toBeUndefined();
  });

  it('counts as ended when it does not start within 10 s', async () => {
    const threads = new TwoThreads({ ttlMs, isSilent: true });
    const ready = threads.renewal.ready(resolveTiming({ ttlMs }));
    ready?.catch(() => undefined);
    await threads.advance(10_005);
    await expect(ready).rejects.toThrow(UnreachableError);
  });
});

describe('the end of renewal from a thread', () => {
  it('leaves no timer on either side, and may be asked for twice', async () => {
    const threads = new TwoThreads({ ttlMs });
    const lease = await threads.acquire('payments');
    await lease.release();
    await Promise.all([threads.renewal.close(), threads.renewal.close()]);
    expect(threads.main.pendingTimerCount + threads.other.pendingTimerCount).toBe(0);
  });

  it('refuses who still waits for the thread, and who comes later', async () => {
    const threads = new TwoThreads({ ttlMs, isSilent: true });
    const timing = resolveTiming({ ttlMs });
    const ready = threads.renewal.ready(timing);
    await threads.renewal.close();
    await expect(ready).rejects.toThrow(ClosedError);
    expect(() => threads.renewal.ready(timing)).toThrow(ClosedError);
  });
});
