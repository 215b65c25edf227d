import { describe, expect, it } from 'vitest';
import { memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { OptionError } from '../../src/errors/index.js';
import { Leases } from '../../src/leases/index.js';
import { altered } from '../support/altered.js';
import { createFixture, defined } from './fixture.js';

describe('acquiring', () => {
  it('says that somebody else holds the name by a value, not by an error', async () => {
    const { process } = createFixture();
    await process('a').leases.acquire('payments');
    expect(await process('b').leases.acquire('payments')).toBeUndefined();
  });

  it('answers each name of a batch for itself, in order', async () => {
    const { process, store } = createFixture();
    const first = process('a').leases;
    await first.acquire('two');
    store.overwriteRecord('three', 'foreign');
    const outcomes = await process('b').leases.acquireMany(['one', 'two', 'three', 'four']);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual([
      'granted',
      'held',
      'failed',
      'granted',
    ]);
    expect(outcomes[1]).toMatchObject({ current: { name: 'two', holder: { id: 'a' } } });
    expect(outcomes[2]).toMatchObject({ error: { code: 'TENURE_RECORD_CORRUPT' } });
  });

  it('takes back what a lost reply may have granted', async () => {
    const { process, runtime } = createFixture();
    const { leases, link } = process('a');
    link.disturb('reply', 'drop', { operation: 'acquire', count: 1 });
    const failed = leases.acquire('payments').catch((error: unknown) => error);
    expect(await runtime.advanceUntil(failed)).toMatchObject({ code: 'TENURE_OUTCOME_UNKNOWN' });
    await runtime.settle();
    expect(await process('b').leases.acquire('payments')).toBeDefined();
  });

  it('takes back what was granted if the store does not say so for one name of a batch', async () => {
    const { store, runtime } = createFixture();
    const inner = memoryCoordinator(store, { runtime });
    const coordinator = altered(inner, {
      acquire: async (requests, call) => (await inner.acquire(requests, call)).slice(0, 1),
    });
    const leases = new Leases(coordinator, { id: 'a', runtime });
    const outcomes = await leases.acquireMany(['one', 'two']);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['granted', 'failed']);
    expect(outcomes[1]).toMatchObject({ error: { code: 'TENURE_OUTCOME_UNKNOWN' } });
    await runtime.settle();
    expect(await leases.read('two')).toBeUndefined();
    expect(await leases.read('one')).toMatchObject({ state: 'held', holder: { id: 'a' } });
    await leases.close();
  });

  it('never returns a grant that is past its deadline already: it is released and tried again', async () => {
    const { store, runtime } = createFixture();
    const inner = memoryCoordinator(store, { runtime });
    let freezes = 1;
    const coordinator = altered(inner, {
      acquire: async (requests, call) => {
        const results = await inner.acquire(requests, call);
        if (freezes-- > 0) runtime.freeze(25_000);
        return results;
      },
    });
    const leases = new Leases(coordinator, { id: 'a', runtime });
    const lease = defined(await leases.acquire('payments'));
    expect(lease.remainingMs).toBe(20_000);
    await lease.release();
    freezes = 9;
    await expect(leases.acquire('payments')).rejects.toThrow(/answered too late.*larger ttlMs/);
    expect(leases.live).toEqual([]);
    await runtime.settle();
    expect(await leases.read('payments')).toBeUndefined();
  });

  it('closing waits for a grant that is on its way, and gives it back', async () => {
    const { process, runtime, store } = createFixture();
    const { leases, link } = process('a');
    link.disturb('reply', 'hold', { operation: 'acquire', count: 1 });
    const acquiring = leases.acquire('payments').catch((error: unknown) => error);
    await runtime.advance(100);
    expect(store.records.get('payments')).toBeDefined();
    let isClosed = false;
    const closing = leases.close().then(() => {
      isClosed = true;
    });
    await runtime.settle();
    expect(isClosed).toBe(false);
    link.flush();
    await closing;
    expect(await acquiring).toMatchObject({ code: 'TENURE_CLOSED' });
    expect(store.records.get('payments')).toBeUndefined();
  });

  it('gives the same process a new term when it comes back after its lease expired', async () => {
    const { process, runtime } = createFixture();
    const { leases } = process('a');
    const first = defined(await leases.acquire('payments'));
    runtime.freeze(31_000);
    expect(first.state).toBe('lost');
    expect(defined(await leases.acquire('payments')).term).toBeGreaterThan(first.term);
  });

  it('jumps above a term seen at the resource, and refuses an absurd one', async () => {
    const { process } = createFixture();
    const { leases } = process('a');
    const above = Date.UTC(2030, 0, 1);
    expect(defined(await leases.acquire('x', { above })).term).toBe(above + 1);
    await expect(leases.acquire('y', { above: Number.MAX_SAFE_INTEGER })).rejects.toBeInstanceOf(
      OptionError,
    );
  });
});

describe('what is asked for in one turn', () => {
  it('travels in one request, acquired and released, whoever asked', async () => {
    const { store, runtime } = createFixture();
    const inner = memoryCoordinator(store, { runtime });
    const sizes: string[] = [];
    const coordinator = altered(inner, {
      acquire: (requests, call) => {
        sizes.push(`acquire ${requests.length}`);
        return inner.acquire(requests, call);
      },
      release: (requests, call) => {
        sizes.push(`release ${requests.length}`);
        return inner.release(requests, call);
      },
    });
    const leases = new Leases(coordinator, { id: 'a', runtime });
    const names = Array.from({ length: 64 }, (_, index) => `n${index}`);
    await Promise.all(names.map(async (name) => (await leases.acquire(name))?.release()));
    expect(sizes).toEqual(['acquire 64', 'release 64']);
  });

  it('grants a name asked for twice to the first that asked', async () => {
    const { process } = createFixture();
    const { leases } = process('a');
    const [first, second] = await Promise.all([
      leases.acquire('payments'),
      leases.acquire('payments'),
    ]);
    expect(first).toBeDefined();
    expect(second).toBeUndefined();
  });

  it('fails alone if it is not fit to travel', async () => {
    const { process } = createFixture();
    const { leases } = process('a');
    const answers = await Promise.allSettled([
      leases.acquire('a//b'),
      leases.acquire('x', { metadata: 'no json' }),
      leases.acquire('y', { above: -1 }),
      leases.acquire('good', { metadata: '{}' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    expect(await leases.read('good')).toMatchObject({ metadata: '{}' });
  });

  it('fails together if the request had no answer', async () => {
    const { process } = createFixture();
    const { leases, link } = process('a');
    link.cut();
    const answers = await Promise.allSettled([leases.acquire('x'), leases.acquire('y')]);
    expect(answers.map((answer) => answer.status === 'rejected' && answer.reason.code)).toEqual([
      'TENURE_UNREACHABLE',
      'TENURE_UNREACHABLE',
    ]);
  });
});

describe('waiting', () => {
  it('takes a name as soon as it is released', async () => {
    const { process, runtime } = createFixture();
    const lease = defined(await process('a').leases.acquire('payments'));
    const waiting = process('b').leases.acquire('payments', { waitMs: 60_000 });
    await runtime.advance(1_234);
    await lease.release();
    const next = defined(await waiting);
    expect(runtime.now().monotonicMs).toBeLessThan(1_300);
    expect(next.term).toBeGreaterThan(lease.term);
  });

  it('takes the name of a crashed owner within 250 ms of its expiry', async () => {
    const { process, runtime } = createFixture();
    const a = process('a');
    await a.leases.acquire('payments');
    a.link.cut();
    const next = await runtime.advanceUntil(
      process('b').leases.acquire('payments', { waitMs: 60_000 }),
    );
    expect(next).toBeDefined();
    expect(runtime.now().monotonicMs).toBeGreaterThanOrEqual(30_000);
    expect(runtime.now().monotonicMs).toBeLessThan(30_250);
  });

  it('ends with undefined when the time is up', async () => {
    const { process, runtime } = createFixture();
    await process('a').leases.acquire('payments');
    const waiting = process('b').leases.acquire('payments', { waitMs: 5_000 });
    expect(await runtime.advanceUntil(waiting)).toBeUndefined();
    expect(runtime.now().monotonicMs).toBe(5_000);
  });

  it('goes on through a store that cannot be reached, and reports it when the time is up', async () => {
    const { process, runtime } = createFixture();
    const b = process('b');
    b.link.cut();
    const failed = b.leases.acquire('payments', { waitMs: 5_000 }).catch((error: unknown) => error);
    expect(await runtime.advanceUntil(failed)).toMatchObject({ code: 'TENURE_UNREACHABLE' });
    const waiting = b.leases.acquire('payments', { waitMs: 60_000 });
    await runtime.advance(3_000);
    b.link.heal();
    expect(await runtime.advanceUntil(waiting)).toBeDefined();
  });

  it('does not wait when waiting cannot help', async () => {
    const { process, store } = createFixture();
    store.overwriteRecord('payments', 'foreign');
    const { leases } = process('a');
    await expect(leases.acquire('payments', { waitMs: 60_000 })).rejects.toMatchObject({
      code: 'TENURE_RECORD_CORRUPT',
    });
    await expect(leases.acquire('', { waitMs: 60_000 })).rejects.toBeInstanceOf(OptionError);
    for (const waitMs of [-1, Number.NaN, '300', true, 5n]) {
      const wait = leases.acquire('payments', { waitMs: waitMs as number });
      await expect(wait).rejects.toBeInstanceOf(OptionError);
    }
  });

  it('confirms by one read what it was granted after a wait, and does not believe otherwise', async () => {
    const { process, runtime, store } = createFixture();
    const lease = defined(await process('a').leases.acquire('payments'));
    const inner = memoryCoordinator(store, { runtime });
    let reads = 0;
    const coordinator = altered(inner, {
      read: async (names, call) => (++reads === 1 ? [undefined] : inner.read(names, call)),
    });
    const waiting = new Leases(coordinator, { id: 'b', runtime }).acquire('payments', {
      waitMs: 60_000,
    });
    await lease.release();
    const next = defined(await runtime.advanceUntil(waiting));
    expect(reads).toBeGreaterThan(1);
    expect(await inner.read(['payments'], { timeoutMs: 100 })).toMatchObject([{ term: next.term }]);
  });

  it('ends at once when the set of leases is closed, and leaves no timer', async () => {
    const { process, runtime, store } = createFixture();
    await process('a').leases.acquire('payments');
    const b = process('b');
    const waiting = b.leases
      .acquire('payments', { waitMs: 60_000 })
      .catch((error: unknown) => error);
    await runtime.advance(100);
    const timersOfA = 2;
    await b.leases.close();
    expect(await waiting).toMatchObject({ code: 'TENURE_CLOSED' });
    expect(runtime.pendingTimerCount).toBe(timersOfA);
    expect(store.records.get('payments')).toBeDefined();
  });

  it('aborted while a grant is on its way gives it back', async () => {
    for (const waitMs of [0, 60_000]) {
      const { process, runtime } = createFixture();
      const { leases, link } = process('a');
      link.disturb('reply', 'hold', { operation: 'acquire', count: 1 });
      const controller = new AbortController();
      const waiting = leases
        .acquire('payments', { waitMs, signal: controller.signal })
        .catch((error: unknown) => error);
      await runtime.advance(100);
      controller.abort(new Error('changed my mind'));
      link.flush();
      expect(await runtime.advanceUntil(waiting)).toMatchObject({ message: 'changed my mind' });
      expect(await leases.read('payments')).toBeUndefined();
    }
  });

  it.each([0, 1, 999, 1_000, 1_001, 4_000])(
    'aborted after %d ms leaves nothing behind',
    async (abortAtMs) => {
      const { process, runtime, store } = createFixture();
      const lease = defined(await process('a').leases.acquire('payments'));
      const controller = new AbortController();
      const b = process('b').leases;
      const waiting = b
        .acquire('payments', { waitMs: 60_000, signal: controller.signal })
        .catch((error: unknown) => error);
      runtime.setTimer(1_000, () => void lease.release());
      runtime.setTimer(abortAtMs, () => controller.abort(new Error('changed my mind')));
      await runtime.advance(5_000);
      const gotIt = b.live.length === 1;
      expect(gotIt || (await waiting) instanceof Error).toBe(true);
      await b.close();
      expect(store.records.get('payments')).toBeUndefined();
      expect(runtime.pendingTimerCount).toBe(0);
    },
  );
});
