import { describe, expect, it } from 'vitest';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { redisCoordinator } from '../../src/coordinators/redis/index.js';
import { OptionError } from '../../src/errors/index.js';
import { Leases } from '../../src/leases/index.js';
import { altered } from '../support/altered.js';
import { failure, untyped } from '../support/untyped.js';
import { createFixture, defined } from './fixture.js';

const url = 'redis://127.0.0.1:1';

const methods = [
  ...['acquire', 'renew', 'release', 'handoff', 'read', 'list', 'watch', 'onConnectionLost'],
  ...['enroll', 'withdraw', 'candidates', 'onCalled', 'revoke', 'suspend', 'resume', 'history'],
  ...['readDocument', 'writeDocument', 'close', 'promises'],
];

const acquireOptions = [
  ...['ttlMs', 'renewEveryMs', 'giveUpAfterMs', 'attemptTimeoutMs', 'waitMs', 'preference'],
  ...['above', 'metadata', 'graceAfterLossMs', 'maxHoldMs', 'keepHistory'],
  ...['onQueued', 'onAdmitted', 'onRetry'],
];

describe('a wrong collaborator or null', () => {
  it.each(methods)('is refused at construction: a coordinator without %s', async (missing) => {
    const half = altered(memoryCoordinator(), { [missing]: undefined });
    expect(await failure(() => new Leases(half))).toMatchObject({
      option: expect.stringMatching(/^coordinator/),
    });
  });

  it.each<[string, string, () => unknown]>([
    ['options of null', 'options', () => new Leases(memoryCoordinator(), untyped(null))],
    ['options of 3', 'options', () => new Leases(memoryCoordinator(), untyped(3))],
    [
      'half a coordinator',
      'coordinator',
      () => new Leases(untyped({ acquire() {}, onConnectionLost() {} })),
    ],
    ['a runtime of 3', 'runtime', () => new Leases(memoryCoordinator(), untyped({ runtime: 3 }))],
    ['a runtime of {}', 'runtime', () => new Leases(memoryCoordinator(), untyped({ runtime: {} }))],
    [
      'a runtime of null',
      'runtime',
      () => new Leases(memoryCoordinator(), untyped({ runtime: null })),
    ],
    ...['id', 'ttlMs', 'renewEveryMs', 'giveUpAfterMs', 'attemptTimeoutMs'].map(
      (option): [string, string, () => unknown] => [
        `${option} of null`,
        option,
        () => new Leases(memoryCoordinator(), untyped({ [option]: null })),
      ],
    ),
    ['an id of 30000', 'id', () => new Leases(memoryCoordinator(), untyped({ id: 30_000 }))],
    [
      'memory options of null',
      'options',
      () => memoryCoordinator(new MemoryStore(), untyped(null)),
    ],
    ['a memory store of null', 'store', () => memoryCoordinator(untyped(null))],
    ['a memory store that is none', 'store', () => memoryCoordinator(untyped({}))],
    [
      'a runtime of a memory coordinator',
      'runtime',
      () => memoryCoordinator(new MemoryStore(), untyped({ runtime: {} })),
    ],
    ['a link', 'link', () => memoryCoordinator(new MemoryStore(), untyped({ link: 3 }))],
    ['store options of null', 'options', () => new MemoryStore(untyped(null))],
    ['a runtime of a memory store', 'runtime', () => new MemoryStore(untyped({ runtime: 3 }))],
    ['Redis options of null', 'options', () => redisCoordinator(url, untyped(null))],
    ['a runtime of Redis', 'runtime', () => redisCoordinator(url, untyped({ runtime: 3 }))],
  ])('is refused at construction: %s', async (_what, option, call) => {
    const error = await failure(call);
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ option, remedy: expect.stringMatching(/\w/) });
  });

  it.each<[string, string, (leases: Leases) => unknown]>([
    ['acquire(name, null)', 'options', (leases) => leases.acquire('x', untyped(null))],
    ['acquire(name, 3)', 'options', (leases) => leases.acquire('x', untyped(3))],
    ['a signal of 3', 'signal', (leases) => leases.acquire('x', untyped({ signal: 3 }))],
    ['a signal of null', 'signal', (leases) => leases.acquire('x', untyped({ signal: null }))],
    [
      'a signal of {} while waiting',
      'signal',
      (leases) => leases.acquire('x', untyped({ waitMs: 5, signal: {} })),
    ],
    ['an id', 'id', (leases) => leases.acquire('x', untyped({ id: 30_000 }))],
    ...acquireOptions.flatMap((option): [string, string, (leases: Leases) => unknown][] => [
      [`${option} of null`, option, (leases) => leases.acquire('x', untyped({ [option]: null }))],
      [
        `${option} of null while waiting`,
        option,
        (leases) => leases.acquire('x', untyped({ waitMs: 5, [option]: null })),
      ],
    ]),
    [
      'a number for metadata',
      'metadata',
      (leases) => leases.acquire('x', untyped({ metadata: 30 })),
    ],
    [
      'a number for metadata while waiting',
      'metadata',
      (leases) => leases.acquire('x', untyped({ metadata: 30_000, waitMs: 5 })),
    ],
    ['acquireMany(null)', 'names', (leases) => leases.acquireMany(untyped(null))],
    ['acquireMany of a text', 'names', (leases) => leases.acquireMany(untyped('xyz'))],
    ['acquireMany with null', 'options', (leases) => leases.acquireMany(['x'], untyped(null))],
    [
      'acquireMany with an id',
      'id',
      (leases) => leases.acquireMany(['x'], untyped({ id: 30_000 })),
    ],
    ['releaseMany(null)', 'leases', (leases) => leases.releaseMany(untyped(null))],
    ['releaseMany([3])', 'leases', (leases) => leases.releaseMany(untyped([3]))],
    ['handoffMany(null)', 'gifts', (leases) => leases.handoffMany(untyped(null))],
    ['handoffMany([null])', 'gifts', (leases) => leases.handoffMany(untyped([null]))],
    ['a gift without a lease', 'gifts', (leases) => leases.handoffMany(untyped([{ to: 'b' }]))],
  ])('is refused, and nothing is acquired or given back: %s', async (_what, option, call) => {
    const { runtime, process } = createFixture();
    const { leases } = process('a');
    const held = defined(await runtime.advanceUntil(leases.acquire('held')));
    const error = await runtime.advanceUntil(failure(() => call(leases)));
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ option, remedy: expect.stringMatching(/\w/) });
    expect(leases.live).toEqual([held]);
    expect(held.state).toBe('held');
    await runtime.advanceUntil(leases.close());
  });

  it('gives back none of a list that holds something else', async () => {
    const { runtime, process } = createFixture();
    const { leases } = process('a');
    const held = defined(await runtime.advanceUntil(leases.acquire('held')));
    expect(await failure(() => leases.releaseMany(untyped([held, 3])))).toBeInstanceOf(OptionError);
    expect(held.state).toBe('held');
    await runtime.advanceUntil(leases.close());
  });

  it.each(['bogus', undefined, 'released', 'toString'])(
    'a lease does not end because of %j',
    async (reason) => {
      const { runtime, process } = createFixture();
      const { leases } = process('a');
      const lease = defined(await runtime.advanceUntil(leases.acquire('held')));
      const error = await failure(() => lease.end(untyped(reason)));
      expect(error).toBeInstanceOf(OptionError);
      expect(error).toMatchObject({ option: 'reason', remedy: expect.stringContaining('revoked') });
      expect(lease.state).toBe('held');
      await runtime.advanceUntil(leases.close());
    },
  );
});
