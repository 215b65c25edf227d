import { describe, expect, it, vi } from 'vitest';
import { defined } from './fixture.js';
import {
  fixtureOf,
  name,
  QueueFixture,
  type QueueProcess,
  renewEveryMs,
  startWaiting,
  ttlMs,
} from './queue-fixture.js';

const _act = { by: 'operator', reason: 'test' };
const _call = { timeoutMs: 1_000 };

describe('a wake that is lost', () => {
  it('costs only time: the next refresh finds the name free', async () => {
    const { runtime, processes } = fixtureOf('a', 'b');
    const [a, b] = processes as [QueueProcess, QueueProcess];
    const lease = defined(await a.leases.acquire(name));
    const wait = startWaiting(b);
    await runtime.advance(100);
    b.link.disturb('reply', 'drop', { operation: 'watch' });
    await lease.release();
    await runtime.advance(renewEveryMs / 2);
    expect(wait.isOver).toBe(false);
    await runtime.advance(renewEveryMs / 2 + 100);
    expect(wait.lease?.state).toBe('held');
  });

  it('of an expiry costs next to nothing: the first in the queue knows when it is', async () => {
    const { runtime, processes } = fixtureOf('a', 'b');
    const [a, b] = processes as [QueueProcess, QueueProcess];
    await a.leases.acquire(name);
    b.link.disturb('reply', 'drop', { operation: 'watch' });
    const wait = startWaiting(b);
    await runtime.advance(100);
    a.link.cut();
    await runtime.advance(ttlMs - 101);
    expect(wait.isOver).toBe(false);
    await runtime.advance(26);
    expect(wait.lease?.state).toBe('held');
  });

  it('is none while a try is on its way, whose answer is older than the call', async () => {
    const { fixture, runtime, processes } = fixtureOf('a', 'b', 'c');
    const [a, b, c] = processes as [QueueProcess, QueueProcess, QueueProcess];
    const lease = defined(await a.leases.acquire(name));
    const wait = startWaiting(b);
    const first = startWaiting(c, { preference: 1 });
    await runtime.advance(100);
    b.link.disturb('reply', 'hold', { operation: 'acquire', count: 1 });
    await lease.release();
    await runtime.advance(200);
    // By now b has asked in its turn, and will hear that c has it.
    expect(first.lease?.state).toBe('held');
    await first.lease?.release();
    await runtime.advance(10);
    expect(await fixture.read(name)).toBeUndefined();
    b.link.flush();
    await runtime.advance(10);
    expect(wait.lease?.state).toBe('held');
  });

  it('is none while a refresh is on its way, whose answer is older than the call', async () => {
    const { runtime, processes } = fixtureOf('a', 'b');
    const [a, b] = processes as [QueueProcess, QueueProcess];
    const lease = defined(await a.leases.acquire(name));
    // An entry that stands before b, so that b takes its turn a step later.
    const ahead = a.leases.enroll(name, { standing: 'waiting', preference: 1 });
    await runtime.advance(10);
    const wait = startWaiting(b);
    await runtime.advance(10);
    b.link.disturb('reply', 'hold', { operation: 'enroll', count: 1 });
    await runtime.advance(renewEveryMs);
    await lease.release();
    await runtime.advance(10);
    b.link.flush();
    await runtime.advance(150);
    expect(wait.lease?.state).toBe('held');
    await ahead.withdraw();
  });

  it('that comes twice or for a name that nobody here waits for changes nothing', async () => {
    const { fixture, runtime, processes } = fixtureOf('a', 'b');
    const [a, b] = processes as [QueueProcess, QueueProcess];
    const lease = defined(await a.leases.acquire(name));
    b.link.disturb('reply', 'duplicate', { operation: 'watch' });
    const wait = startWaiting(b);
    await runtime.advance(100);
    await lease.release();
    await runtime.advance(100);
    expect(wait.lease?.state).toBe('held');
    fixture.resetCounts();
    b.leases.enroll(name, { standing: 'waiting' });
    await runtime.advance(100);
    await wait.lease?.release();
    await runtime.advance(renewEveryMs);
    expect(fixture.countOf('acquire')).toBe(0);
    expect(await fixture.read(name)).toBeUndefined();
  });

  it('because the store forgot the queue is made good by the refresh, which enters it anew', async () => {
    const { fixture, runtime, processes } = fixtureOf('a', 'b');
    const [a, b] = processes as [QueueProcess, QueueProcess];
    await a.leases.acquire(name);
    const wait = startWaiting(b);
    await runtime.advance(100);
    a.link.cut();
    fixture.store.restart({ keepData: false });
    await runtime.advance(200);
    expect(wait.lease?.state).toBe('held');
    expect(await fixture.candidates(name)).toEqual([]);
  });
});

describe('a store in trouble', () => {
  it('is asked again by the queue alone, and the caller may be told', async () => {
    const { fixture, runtime, processes } = fixtureOf('a');
    const [a] = processes;
    a.link.cut();
    const told: string[] = [];
    const wait = startWaiting(a, {
      onRetry: (error, retryInMs) => {
        expect(retryInMs).toBeLessThanOrEqual(renewEveryMs);
        told.push(error.code);
      },
    });
    await runtime.advance(20 * ttlMs);
    expect(new Set(told)).toEqual(new Set(['TENURE_UNREACHABLE']));
    expect(told.length).toBeLessThan(20 * 5);
    expect(fixture.countOf('acquire')).toBe(1);
    a.link.heal();
    await runtime.advance(renewEveryMs);
    expect(wait.lease?.state).toBe('held');
  });

  it('is forgotten once it has answered: then the time that is up is no error', async () => {
    const { runtime, processes } = fixtureOf('a', 'b');
    const [a, b] = processes as [QueueProcess, QueueProcess];
    await a.leases.acquire(name);
    b.link.cut();
    const wait = startWaiting(b, { waitMs: ttlMs });
    await runtime.advance(10);
    b.link.heal();
    await runtime.advance(ttlMs);
    expect(wait).toMatchObject({ isOver: true, lease: undefined, error: undefined });
  });

  it('that answers for the queue and for nothing else is told apart from a name that is held', async () => {
    const { runtime, processes } = fixtureOf('a');
    const [a] = processes;
    a.link.disturb('request', 'drop', { operation: 'acquire' });
    const wait = startWaiting(a, { waitMs: 2 * ttlMs });
    await runtime.advance(2 * ttlMs + 2_000);
    expect(wait.error).toMatchObject({ code: 'TENURE_OUTCOME_UNKNOWN' });
  });

  it('that swallowed the answer to a try is looked at again soon', async () => {
    const { runtime, processes } = fixtureOf('a', 'b');
    const [a, b] = processes as [QueueProcess, QueueProcess];
    const lease = defined(await a.leases.acquire(name));
    const wait = startWaiting(b);
    await runtime.advance(100);
    b.link.disturb('reply', 'drop', { operation: 'acquire', count: 1 });
    await lease.release();
    await runtime.advance(renewEveryMs);
    expect(wait.lease?.state).toBe('held');
  });

  it('ends the wait if asking again cannot help', async () => {
    const { fixture, runtime, processes } = fixtureOf('a', 'b');
    const [a, b] = processes as [QueueProcess, QueueProcess];
    await a.leases.acquire(name);
    const wait = startWaiting(b);
    await runtime.advance(100);
    fixture.store.overwriteRecord(name, 'foreign');
    await runtime.advance(renewEveryMs);
    expect(wait.error).toMatchObject({ code: 'TENURE_RECORD_CORRUPT' });
    expect(await fixture.candidates(name)).toEqual([]);
  });

  it('whose client was closed ends the wait with an error that says so', async () => {
    const { runtime, processes } = fixtureOf('a', 'b');
    const [a, b] = processes as [QueueProcess, QueueProcess];
    await a.leases.acquire(name);
    const wait = startWaiting(b);
    await runtime.advance(100);
    await b.coordinator.close();
    await runtime.advance(renewEveryMs);
    expect(wait.error).toMatchObject({ code: 'TENURE_CLOSED' });
  });

  it('is no reason for a listener of errors to break the wait', async () => {
    const { runtime, processes } = fixtureOf('a');
    const [a] = processes;
    a.link.cut();
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const wait = startWaiting(a, {
      onRetry: () => {
        throw new Error('broken logger');
      },
    });
    await runtime.advance(10);
    expect(warn).toHaveBeenCalled();
    warn.mockRestore();
    a.link.heal();
    await runtime.advance(renewEveryMs);
    expect(wait.lease?.state).toBe('held');
  });
});

describe('closing while waiting', () => {
  it('ends every wait at once, leaves the queue before it frees what is held, and leaves nothing', async () => {
    const { fixture, runtime, processes } = fixtureOf('a', 'b');
    const [a, b] = processes as [QueueProcess, QueueProcess];
    const lease = defined(await a.leases.acquire(name));
    const own = startWaiting(a);
    const other = startWaiting(b);
    await runtime.advance(100);
    fixture.resetCounts();
    await a.leases.close();
    expect(lease.endReason).toBe('shutdown');
    expect(own.error).toMatchObject({ code: 'TENURE_CLOSED' });
    await runtime.advance(10);
    // The first in the queue was one that closes: had it been called, b would have waited its step.
    expect(other.lease?.state).toBe('held');
    expect(fixture.countOf('withdraw')).toBe(2);
    await b.leases.close();
    expect(fixture.listenerCount).toBe(0);
    expect(runtime.pendingTimerCount).toBe(0);
  });

  it('takes no longer than the store may take for two requests, if it answers none', async () => {
    const { runtime, processes } = fixtureOf('a', 'b');
    const [a, b] = processes as [QueueProcess, QueueProcess];
    await a.leases.acquire(name);
    const wait = startWaiting(b);
    await runtime.advance(100);
    b.link.hang();
    await runtime.advance(renewEveryMs);
    const startedAtMs = runtime.now().monotonicMs;
    await runtime.advanceUntil(b.leases.close());
    expect(runtime.now().monotonicMs - startedAtMs).toBeLessThanOrEqual(renewEveryMs / 2);
    expect(wait.error).toMatchObject({ code: 'TENURE_CLOSED' });
  });
});

describe('a first try that has no answer', () => {
  it('is not repeated at once, nor is the queue entered before the pause that was told', async () => {
    const fixture = new QueueFixture();
    const { leases, link } = fixture.process('a', { ttlMs: 6_000 });
    const pauses: number[] = [];
    link.disturb('request', 'drop', { operation: 'acquire', count: 1 });
    const onRetry = (_: unknown, retryInMs: number) => pauses.push(retryInMs);
    const waiting = leases.acquire('payments', { waitMs: 60_000, onRetry });
    while (pauses.length === 0) await fixture.runtime.advance(1);
    const [pauseMs = 0] = pauses;
    expect(pauseMs).toBeGreaterThan(50);
    await fixture.runtime.advance(pauseMs - 1);
    expect([fixture.countOf('acquire'), fixture.countOf('enroll')]).toEqual([1, 0]);
    expect(await fixture.runtime.advanceUntil(waiting)).toBeDefined();
    expect(pauses).toHaveLength(1);
    await fixture.runtime.advanceUntil(leases.close());
  });
});
