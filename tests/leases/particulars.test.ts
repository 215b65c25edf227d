import { describe, expect, it } from 'vitest';
import type { AcquireRequest, ReleaseRequest } from '../../src/coordinators/index.js';
import { memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { OptionError, OutcomeUnknownError } from '../../src/errors/index.js';
import { type AcquireOptions, Leases } from '../../src/leases/index.js';
import type { LeaseEvent } from '../../src/leases/machine.js';
import { altered } from '../support/altered.js';
import { createFixture, defined } from './fixture.js';

/** A process whose acquire and release requests are kept. */
function recordingProcess() {
  const { runtime, store, process } = createFixture();
  const inner = memoryCoordinator(store, { runtime });
  const acquired: AcquireRequest[] = [];
  const released: ReleaseRequest[] = [];
  const coordinator = altered(inner, {
    acquire: (requests, call) => {
      acquired.push(...requests);
      return inner.acquire(requests, call);
    },
    release: (requests, call) => {
      released.push(...requests);
      return inner.release(requests, call);
    },
  });
  const leases = new Leases(coordinator, { id: 'a', runtime });
  return { runtime, store, process, leases, acquired, released, inner };
}

describe('what an acquisition asks for', () => {
  it('reaches the store: lock-delay and history', async () => {
    const { leases, acquired } = recordingProcess();
    await leases.acquire('one', { graceAfterLossMs: 5_000, keepHistory: true });
    await leases.acquireMany(['two']);
    expect(acquired[0]).toMatchObject({ name: 'one', graceMs: 5_000, keepHistory: true });
    expect(acquired[0]).not.toHaveProperty('graceAfterLossMs');
    expect(acquired[1]).not.toHaveProperty('graceMs');
    expect(acquired[1]).not.toHaveProperty('maxHoldMs');
  });

  it.each<[string, unknown]>([
    ['graceAfterLossMs', -1],
    ['graceAfterLossMs', 1.5],
    ['graceAfterLossMs', 86_400_001],
    ['graceAfterLossMs', '5s'],
    ['maxHoldMs', 0],
    ['maxHoldMs', -1],
    ['maxHoldMs', Number.NaN],
    ['maxHoldMs', Number.POSITIVE_INFINITY],
    ['maxHoldMs', '5s'],
    ['keepHistory', 1],
    ['keepHistory', 'yes'],
  ])('is refused by name: %s of %j', async (option, value) => {
    const { leases } = recordingProcess();
    const options = { [option]: value } as AcquireOptions;
    for (const refused of [leases.acquire('x', options), leases.acquireMany(['x'], options)]) {
      const error = await refused.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(OptionError);
      expect(error).toMatchObject({ option });
    }
  });
});

describe('a lease with a longest time', () => {
  it('is lost at that time with its reason, although every renewal succeeded', async () => {
    const { leases, runtime } = recordingProcess();
    const lease = defined(await leases.acquire('payments', { maxHoldMs: 65_000 }));
    await runtime.advance(64_999);
    expect(lease.state).toBe('held');
    expect(lease.remainingMs).toBe(1);
    await runtime.advance(1);
    expect(lease.signal.reason).toMatchObject({ reason: 'max-hold' });
  });

  it('is seen as lost by the first statement after a freeze, with what came first as its reason', async () => {
    const { leases, runtime } = recordingProcess();
    const short = defined(await leases.acquire('short', { maxHoldMs: 15_000 }));
    const long = defined(await leases.acquire('long', { maxHoldMs: 25_000 }));
    runtime.freeze(90_000);
    expect(short.endReason).toBe('max-hold');
    expect(long.endReason).toBe('expired');
  });

  it('is given back when its work has stopped, and the store is told why it ended', async () => {
    const { leases, runtime, process, released } = recordingProcess();
    const lease = defined(await leases.acquire('payments', { maxHoldMs: 5_000 }));
    await runtime.advance(5_000);
    expect(await process('b').leases.acquire('payments')).toBeUndefined();
    await lease.release();
    await runtime.settle();
    expect(released).toMatchObject([{ name: 'payments', reason: 'max-hold' }]);
    expect(await process('b').leases.acquire('payments')).toBeDefined();
  });

  it.each([
    [5_000, /maxHoldMs 5000 ms\).*larger maxHoldMs/],
    [20_000, /given up after 20000 ms\).*larger ttlMs/],
  ])('is never returned when it would be over already, after %d ms', async (tookMs, message) => {
    const { store, runtime, inner } = recordingProcess();
    const coordinator = altered(inner, {
      acquire: async (requests, call) => {
        const results = await inner.acquire(requests, call);
        runtime.freeze(tookMs);
        return results;
      },
    });
    const leases = new Leases(coordinator, { id: 'b', runtime });
    const options = { maxHoldMs: 5_000 };
    await expect(leases.acquire('payments', options)).rejects.toThrow(message);
    await runtime.settle();
    expect(store.records.get('payments')).toBeUndefined();
  });
});

describe('a longest time that is over before a lease may be granted', () => {
  it('is refused, for one, for many and while waiting', async () => {
    const { leases, acquired } = recordingProcess();
    const refusal = {
      option: 'maxHoldMs',
      message: expect.stringMatching(/attemptTimeoutMs of 2500 ms .*at least 5000 milliseconds/),
    };
    for (const call of [
      leases.acquire('x', { maxHoldMs: 4_999 }),
      leases.acquire('x', { maxHoldMs: 4_999, waitMs: 10 }),
      leases.acquireMany(['x'], { maxHoldMs: 4_999 }),
    ])
      await expect(call).rejects.toMatchObject(refusal);
    expect(acquired).toEqual([]);
    expect(await leases.acquire('x', { maxHoldMs: 4_999, ttlMs: 6_000 })).toBeDefined();
  });
});

describe('a release tells the history why the term ended', () => {
  it.each<[string, (fixture: ReturnType<typeof recordingProcess>) => Promise<unknown>]>([
    ['released', async ({ leases }) => defined(await leases.acquire('x')).release()],
    ['released', async ({ leases }) => leases.releaseMany([defined(await leases.acquire('x'))])],
    [
      'shutdown',
      async ({ leases }) => {
        await leases.acquire('x');
        await leases.close();
      },
    ],
    [
      'stalled',
      async ({ leases }) => {
        const lease = defined(await leases.acquire('x'));
        lease.end('stalled');
        await lease.release();
      },
    ],
    [
      'expired',
      async ({ leases, runtime }) => {
        const lease = defined(await leases.acquire('x'));
        runtime.freeze(25_000);
        await lease.release();
      },
    ],
  ])('%s', async (reason, end) => {
    const fixture = recordingProcess();
    await end(fixture);
    await fixture.runtime.settle();
    expect(fixture.released).toMatchObject([{ name: 'x', reason }]);
  });

  it('abandoned, when an acquisition that nobody will use is undone', async () => {
    const { store, runtime } = createFixture();
    const inner = memoryCoordinator(store, { runtime });
    const released: ReleaseRequest[] = [];
    const coordinator = altered(inner, {
      acquire: async (requests, call) => {
        await inner.acquire(requests, call);
        throw new OutcomeUnknownError('its reply was lost');
      },
      release: (requests, call) => {
        released.push(...requests);
        return inner.release(requests, call);
      },
    });
    const leases = new Leases(coordinator, { id: 'a', runtime });
    await expect(leases.acquire('x')).rejects.toMatchObject({ code: 'TENURE_OUTCOME_UNKNOWN' });
    await runtime.settle();
    expect(released).toMatchObject([{ name: 'x', reason: 'abandoned' }]);
    expect(store.records.get('x')).toBeUndefined();
  });
});

describe('after the loss of a lease with a lock-delay', () => {
  const failures: LeaseEvent[] = [
    { type: 'deadline-passed' },
    { type: 'not-yours', reason: 'superseded' },
    { type: 'not-yours', reason: 'vanished' },
    { type: 'ended', reason: 'stalled' },
  ];

  it.each([...failures, undefined])(
    'nothing is released (%j), whatever the work says, so that the lock-delay follows',
    async (event) => {
      const { leases, runtime, released } = recordingProcess();
      const lease = defined(await leases.acquire('x', { graceAfterLossMs: 5_000 }));
      if (event === undefined) runtime.freeze(25_000);
      else lease.apply(event);
      expect(lease.state).toBe('lost');
      await lease.release();
      await runtime.advance(120_000);
      expect(released).toEqual([]);
      await leases.close();
      expect(released).toEqual([]);
    },
  );

  it('nothing is released if a renewal failed before its deadline passed', async () => {
    const { leases, runtime, released } = recordingProcess();
    const lease = defined(await leases.acquire('x', { graceAfterLossMs: 5_000 }));
    lease.apply({ type: 'renewal-failed' });
    lease.apply({ type: 'deadline-passed' });
    expect(lease.endReason).toBe('unreachable');
    await lease.release();
    await runtime.advance(120_000);
    expect(released).toEqual([]);
  });

  it.each(['revoked', 'max-hold', 'shutdown'] as const)(
    'whose end was decided (%s), it is released as soon as its work has stopped',
    async (reason) => {
      const { leases, runtime, released } = recordingProcess();
      const lease = defined(await leases.acquire('x', { graceAfterLossMs: 5_000 }));
      lease.end(reason);
      await runtime.advance(lease.timing.ttlMs - 1);
      expect(released).toEqual([]);
      await lease.release();
      await runtime.settle();
      expect(released).toMatchObject([{ name: 'x', reason }]);
    },
  );

  it.each(['revoked', 'max-hold', 'shutdown'] as const)(
    'whose end was decided (%s), nothing is released before its work has stopped, nor once the ttl is over',
    async (reason) => {
      const { leases, runtime, released } = recordingProcess();
      const lease = defined(await leases.acquire('x', { graceAfterLossMs: 5_000 }));
      lease.end(reason);
      await runtime.advance(lease.timing.ttlMs);
      await lease.release();
      await runtime.settle();
      expect(released).toEqual([]);
    },
  );

  it('a clean release is one: no lock-delay was needed', async () => {
    const { leases, process } = recordingProcess();
    const lease = defined(await leases.acquire('x', { graceAfterLossMs: 5_000 }));
    await lease.release();
    expect(await process('b').leases.acquire('x')).toBeDefined();
  });
});
