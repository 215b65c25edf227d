import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/errors/index.js';
import { Leases, type LeaseTiming, resolveTiming } from '../../src/leases/index.js';
import { memoryCoordinator } from '../../src/memory.js';
import { createFixture } from './fixture.js';

describe('timing', () => {
  it('defaults to 30 s, renewed every 10 s, given up at 20 s', () => {
    expect(resolveTiming()).toEqual({
      ttlMs: 30_000,
      renewEveryMs: 10_000,
      giveUpAfterMs: 20_000,
      attemptTimeoutMs: 2_500,
    });
  });

  it('scales with the ttl alone', () => {
    expect(resolveTiming({ ttlMs: 3_000 })).toEqual({
      ttlMs: 3_000,
      renewEveryMs: 1_000,
      giveUpAfterMs: 2_000,
      attemptTimeoutMs: 250,
    });
  });

  it.each<[string, LeaseTiming, RegExp]>([
    ['ttlMs', { ttlMs: 99 }, /100 to 86400000/],
    ['ttlMs', { ttlMs: 1000.5 }, /whole number/],
    ['ttlMs', { ttlMs: Number.NaN }, /positive number/],
    ['ttlMs', { ttlMs: '30s' as unknown as number }, /positive number/],
    [
      'renewEveryMs',
      { ttlMs: 3_000, renewEveryMs: 1_001 },
      /three renewals.*at most 1000 ms, or a ttlMs of at least 3003/,
    ],
    ['renewEveryMs', { renewEveryMs: -1 }, /positive number/],
    ['giveUpAfterMs', { giveUpAfterMs: 29_999 }, /too late for the ttl.*at most 29690 ms/],
    ['giveUpAfterMs', { giveUpAfterMs: 10_000 }, /before the first renewal/],
    ['attemptTimeoutMs', { attemptTimeoutMs: 5_001 }, /no time for a second try.*at most 5000 ms/],
    ['attemptTimeoutMs', { giveUpAfterMs: 10_001, attemptTimeoutMs: 1 }, /at most 0 ms/],
  ])('refuses a wrong %s: %j', (option, timing, remedy) => {
    expect(() => resolveTiming(timing)).toThrow(OptionError);
    expect(() => resolveTiming(timing)).toThrow(remedy);
    expect(() => new Leases(memoryCoordinator(), timing)).toThrow(option);
  });

  it('of one acquisition may differ: a ttl brings its own defaults', async () => {
    const { process } = createFixture();
    const { leases } = process('a');
    expect((await leases.acquire('short', { ttlMs: 3_000 }))?.timing.renewEveryMs).toBe(1_000);
    expect((await leases.acquire('early', { giveUpAfterMs: 15_000 }))?.timing).toMatchObject({
      ttlMs: 30_000,
      giveUpAfterMs: 15_000,
    });
    await expect(leases.acquire('wrong', { renewEveryMs: 11_000 })).rejects.toThrow('renewEveryMs');
  });
});

describe('a set of leases', () => {
  it.each([undefined, null, {}, 'redis://localhost'])(
    'needs a coordinator, not %j',
    (coordinator) => {
      expect(() => new Leases(coordinator as never)).toThrow(
        /coordinator is not a coordinator.*memoryCoordinator/,
      );
    },
  );
});

describe('a holder id', () => {
  it.each(['', 'a:b', 'a b', '-a', 'x'.repeat(129), 'ä'])('%j is refused by name', (id) => {
    expect(() => new Leases(memoryCoordinator(), { id })).toThrow(OptionError);
  });

  it('defaults to something readable that differs per process', async () => {
    const leases = new Leases(memoryCoordinator());
    expect(leases.holder.id).toMatch(new RegExp(`-${process.pid}$`));
    await leases.close();
  });
});
