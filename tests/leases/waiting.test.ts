import { describe, expect, it } from 'vitest';
import { calledCount } from '../../src/coordinators/index.js';
import { OptionError } from '../../src/errors/index.js';
import type { WaitOptions } from '../../src/leases/index.js';
import { call } from '../support/call.js';
import { defined } from './fixture.js';
import {
  fixtureOf,
  name,
  type QueueProcess,
  renewEveryMs,
  startWaiting,
  ttlMs,
} from './queue-fixture.js';

const act = { by: 'operator', reason: 'test' };

describe('whoever waits', () => {
  it('stands in the queue as long as it waits, and no longer', async () => {
    const { fixture, runtime, processes } = fixtureOf('a', 'b', 'c');
    const [a, b, c] = processes as [QueueProcess, QueueProcess, QueueProcess];
    const lease = defined(await a.leases.acquire(name));
    const first = startWaiting(b);
    await runtime.advance(10);
    const second = startWaiting(c);
    await runtime.advance(10 * ttlMs);
    expect(await fixture.candidates(name)).toEqual(['b waiting', 'c waiting']);
    await lease.release();
    await runtime.advance(500);
    expect(first.lease?.state).toBe('held');
    expect(await fixture.candidates(name)).toEqual(['c waiting']);
    await first.lease?.release();
    await runtime.advance(500);
    expect(second.lease?.state).toBe('held');
    expect(await fixture.candidates(name)).toEqual([]);
    expect(fixture.listenerCount).toBe(0);
  });

  it('does not enter a queue for a name that it is granted at once', async () => {
    const { fixture, processes } = fixtureOf('a');
    const lease = await processes[0].leases.acquire(name, { waitMs: 1_000 });
    expect(lease).toBeDefined();
    expect(fixture.countOf('enroll')).toBe(0);
  });

  it('is served in the order of preference, then of arrival', async () => {
    const { runtime, processes } = fixtureOf('a', 'b', 'c', 'd');
    const [a, b, c, d] = processes as [QueueProcess, QueueProcess, QueueProcess, QueueProcess];
    const lease = defined(await a.leases.acquire(name));
    const order: string[] = [];
    for (const [process, preference] of [
      [b, 0],
      [c, 7],
      [d, 7],
    ] as const) {
      void process.leases
        .acquire(name, { waitMs: Number.POSITIVE_INFINITY, preference })
        .then(async (granted) => {
          order.push(process.leases.holder.id);
          await granted?.release();
        });
      await runtime.advance(10);
    }
    await lease.release();
    await runtime.advance(1_000);
    expect(order).toEqual(['c', 'd', 'b']);
  });

  it.each(['called', 'by the clock'])(
    'has a head start on those behind it, for a request that takes its time (%s)',
    async (how) => {
      const { runtime, processes } = fixtureOf('a', 'b', 'c');
      const [a, b, c] = processes as [QueueProcess, QueueProcess, QueueProcess];
      const lease = defined(await a.leases.acquire(name));
      const first = startWaiting(b);
      await runtime.advance(10);
      const second = startWaiting(c);
      await runtime.advance(renewEveryMs);
      b.link.disturb('request', 'hold', { operation: 'acquire', count: 1 });
      if (how === 'called') await lease.release();
      else {
        for (const { link } of [b, c]) link.disturb('reply', 'drop', { operation: 'watch' });
        a.link.cut();
        await runtime.advance(ttlMs + 25 - (runtime.now().monotonicMs % renewEveryMs));
      }
      await runtime.advance(50);
      expect([first.isOver, second.isOver]).toEqual([false, false]);
      b.link.flush();
      await runtime.advance(500);
      expect([first.isOver, second.isOver]).toEqual([true, false]);
    },
  );

  it('is told once that it stands in the queue, and not if it had the name at once', async () => {
    const { runtime, processes } = fixtureOf('a', 'b');
    const [a, b] = processes as [QueueProcess, QueueProcess];
    const queued: string[] = [];
    const first = startWaiting(a, { onQueued: () => queued.push('a') });
    await runtime.advance(10);
    startWaiting(b, { onQueued: () => queued.push('b') });
    await runtime.advance(3 * ttlMs);
    expect(first.lease?.state).toBe('held');
    expect(queued).toEqual(['b']);
  });

  it('is told once that the store has it in its queue, however late that is, and not if it had the name at once', async () => {
    const { runtime, processes } = fixtureOf('a', 'b');
    const [a, b] = processes as [QueueProcess, QueueProcess];
    const admitted: string[] = [];
    const first = startWaiting(a, { onAdmitted: () => admitted.push('a') });
    await runtime.advance(10);
    b.link.cut();
    startWaiting(b, { onAdmitted: () => admitted.push('b') });
    await runtime.advance(3 * ttlMs);
    expect(admitted).toEqual([]);
    b.link.heal();
    await runtime.advance(3 * ttlMs);
    expect(first.lease?.state).toBe('held');
    expect(admitted).toEqual(['b']);
  });

  it('shows others the metadata that its lease would have', async () => {
    const { fixture, runtime, processes } = fixtureOf('a', 'b');
    const [a, b] = processes as [QueueProcess, QueueProcess];
    await a.leases.acquire(name);
    startWaiting(b, { metadata: '{"zone":"x"}' });
    await runtime.advance(10);
    const [candidate] = await fixture.operator.candidates(name, call);
    expect(candidate).toMatchObject({ id: 'b', metadata: '{"zone":"x"}' });
  });

  it.each<[string, unknown]>([
    ['preference', -1],
    ['preference', 100],
    ['preference', 1.5],
    ['preference', '5'],
    ['onQueued', 'me'],
    ['onAdmitted', true],
    ['onRetry', 3],
  ])('is refused for %s of %j, whether it would have to wait or not', async (option, value) => {
    const { processes } = fixtureOf('a');
    for (const waitMs of [0, 1_000]) {
      const options = { waitMs, [option]: value } as WaitOptions;
      const error = await processes[0].leases.acquire(name, options).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(OptionError);
      expect(error).toMatchObject({ option });
    }
  });

  it('with its own old id waits like everybody else: another incarnation is another holder', async () => {
    const { runtime, processes } = fixtureOf('a', 'a');
    const [before, after] = processes as [QueueProcess, QueueProcess];
    await before.leases.acquire(name);
    before.link.cut();
    const wait = startWaiting(after);
    await runtime.advance(ttlMs - 1);
    expect(wait.isOver).toBe(false);
    await runtime.advance(100);
    expect(wait.lease?.state).toBe('held');
  });
});

describe('a name that nobody may have yet', () => {
  it('suspended: is waited for until it is resumed, and then taken at once', async () => {
    const { fixture, runtime, processes } = fixtureOf('a', 'b');
    const [a, b] = processes as [QueueProcess, QueueProcess];
    const lease = defined(await a.leases.acquire(name));
    const wait = startWaiting(b);
    await runtime.advance(100);
    await fixture.operator.suspend(name, act, call);
    await runtime.advance(renewEveryMs);
    expect(lease.endReason).toBe('revoked');
    await runtime.advance(10 * ttlMs);
    expect(wait.isOver).toBe(false);
    fixture.resetCounts();
    await runtime.advance(10 * ttlMs);
    expect(fixture.countOf('acquire')).toBe(0);
    await fixture.operator.resume(name, act, call);
    await runtime.advance(10);
    expect(wait.lease?.state).toBe('held');
  });

  it('suspended before anybody held it: likewise', async () => {
    const { fixture, runtime, processes } = fixtureOf('a');
    await fixture.operator.suspend(name, act, call);
    const wait = startWaiting(processes[0]);
    await runtime.advance(5 * ttlMs);
    expect(wait.isOver).toBe(false);
    await fixture.operator.resume(name, act, call);
    await runtime.advance(10);
    expect(wait.lease?.state).toBe('held');
  });

  it('suspended: the wait still ends with its time', async () => {
    const { fixture, runtime, processes } = fixtureOf('a');
    await fixture.operator.suspend(name, act, call);
    const waiting = processes[0].leases.acquire(name, { waitMs: 5_000 });
    expect(await runtime.advanceUntil(waiting)).toBeUndefined();
    expect(runtime.now().monotonicMs).toBe(5_000);
  });

  it.each(['heard', 'lost'])(
    'in its lock-delay: is taken when that is over (calls are %s)',
    async (calls) => {
      const { fixture, runtime, processes } = fixtureOf('a', 'b');
      const [a, b] = processes as [QueueProcess, QueueProcess];
      await a.leases.acquire(name, { graceAfterLossMs: 4_000 });
      if (calls === 'lost') b.link.disturb('reply', 'drop', { operation: 'watch' });
      const wait = startWaiting(b);
      await runtime.advance(100);
      a.link.cut();
      await runtime.advance(ttlMs);
      expect(await fixture.read(name)).toMatchObject({ state: 'lock-delay' });
      await runtime.advance(4_000 - 101);
      expect(wait.isOver).toBe(false);
      await runtime.advance(26);
      expect(wait.lease?.state).toBe('held');
      // That of a, the first of b, and the one that was granted.
      expect(fixture.countOf('acquire')).toBe(3);
    },
  );

  it.each(['heard', 'lost'])(
    'reserved for somebody else, who is dead: is taken when the reservation is over (calls are %s)',
    async (calls) => {
      const { runtime, processes } = fixtureOf('a', 'b');
      const [a, b] = processes as [QueueProcess, QueueProcess];
      const lease = defined(await a.leases.acquire(name));
      const wait = startWaiting(b);
      await runtime.advance(100);
      await lease.handoff('dead', 10_000);
      if (calls === 'lost') b.link.disturb('reply', 'drop', { operation: 'watch' });
      await runtime.advance(9_999);
      expect(wait.isOver).toBe(false);
      await runtime.advance(26);
      expect(wait.lease?.state).toBe('held');
    },
  );

  it.each(['heard', 'lost'])(
    'reserved for one who waits far behind: is taken by that one alone (calls are %s)',
    async (calls) => {
      const { fixture, runtime, processes } = fixtureOf('a', 'b', 'c', 'd', 'e');
      const [a] = processes;
      const lease = defined(await a.leases.acquire(name));
      const waits = [];
      for (const process of processes.slice(1)) {
        waits.push(startWaiting(process));
        await runtime.advance(10);
      }
      const last = processes.at(-1) as QueueProcess;
      if (calls === 'lost') last.link.disturb('reply', 'drop', { operation: 'watch' });
      await lease.handoff('e', 5 * ttlMs);
      await runtime.advance(calls === 'lost' ? renewEveryMs : 10);
      expect(waits.map(({ isOver }) => isOver)).toEqual([false, false, false, true]);
      expect(await fixture.ownerOf(name)).toBe('e');
    },
  );

  it('revoked in favour of a successor: goes to that one when its owner has stopped', async () => {
    const { fixture, runtime, processes } = fixtureOf('a', 'b', 'c');
    const [a, b, c] = processes as [QueueProcess, QueueProcess, QueueProcess];
    const lease = defined(await a.leases.acquire(name));
    const first = startWaiting(b);
    await runtime.advance(10);
    const second = startWaiting(c);
    await runtime.advance(10);
    await fixture.operator.revoke(name, { ...act, to: 'c', reserveMs: ttlMs }, call);
    await runtime.advance(renewEveryMs);
    expect(lease.endReason).toBe('revoked');
    expect([first.isOver, second.isOver]).toEqual([false, false]);
    await lease.release();
    await runtime.advance(10);
    expect([first.isOver, second.isOver]).toEqual([false, true]);
  });
});

describe('several waits of one process for one name', () => {
  it('are one entry, and are served one after the other', async () => {
    const { fixture, runtime, processes } = fixtureOf('a', 'b');
    const [a, b] = processes as [QueueProcess, QueueProcess];
    const lease = defined(await a.leases.acquire(name));
    const waits = [startWaiting(b), startWaiting(b), startWaiting(b)];
    await runtime.advance(100);
    expect(await fixture.candidates(name)).toEqual(['b waiting']);
    await lease.release();
    for (const [index, wait] of waits.entries()) {
      await runtime.advance(500);
      expect(waits.map(({ isOver }) => isOver)).toEqual(waits.map((_, other) => other <= index));
      await wait.lease?.release();
    }
    expect(await fixture.candidates(name)).toEqual([]);
  });

  it('go on when one of them gives up', async () => {
    const { fixture, runtime, processes } = fixtureOf('a', 'b');
    const [a, b] = processes as [QueueProcess, QueueProcess];
    const lease = defined(await a.leases.acquire(name));
    const controller = new AbortController();
    const first = startWaiting(b, { signal: controller.signal, preference: 9 });
    const second = startWaiting(b, { preference: 3 });
    await runtime.advance(100);
    expect((await fixture.operator.candidates(name, call))[0]?.preference).toBe(9);
    controller.abort(new Error('changed my mind'));
    await runtime.advance(100);
    expect(first.error).toMatchObject({ message: 'changed my mind' });
    expect(await fixture.candidates(name)).toEqual(['b waiting']);
    expect((await fixture.operator.candidates(name, call))[0]?.preference).toBe(3);
    await lease.release();
    await runtime.advance(10);
    expect(second.lease?.state).toBe('held');
  });

  it.each(['heard', 'lost'])(
    'ask for the name no more often than the waits of several processes (calls are %s)',
    async (calls) => {
      const { fixture, runtime, processes } = fixtureOf('a', 'b', 'c');
      const [a, b, c] = processes as [QueueProcess, QueueProcess, QueueProcess];
      const lease = defined(await a.leases.acquire(name));
      for (let count = 0; count < 50; count++) startWaiting(b);
      startWaiting(c, { preference: 1 });
      if (calls === 'lost') b.link.disturb('reply', 'drop', { operation: 'watch' });
      await runtime.advance(2 * ttlMs);
      if (calls === 'lost') c.link.cut();
      fixture.resetCounts();
      await lease.release();
      await runtime.advance(renewEveryMs);
      expect(await fixture.ownerOf(name)).toBe(calls === 'lost' ? 'b' : 'c');
      expect(fixture.countOf('acquire')).toBeLessThanOrEqual(calledCount);
    },
  );
});
