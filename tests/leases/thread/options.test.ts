import { describe, expect, it } from 'vitest';
import type { Coordinator, CoordinatorRecipe } from '../../../src/coordinators/index.js';
import { memoryCoordinator } from '../../../src/coordinators/memory/index.js';
import { OptionError } from '../../../src/errors/index.js';
import { Leases, type LeasesOptions, resolveTiming } from '../../../src/leases/index.js';
import { checkTiming, resolveRenewal } from '../../../src/leases/thread/options.js';
import { realRuntime } from '../../../src/time/index.js';
import { VirtualRuntime } from '../../../src/time/virtual.js';
import { altered } from '../../support/altered.js';

const recipe = { module: 'file:///store.js', factory: 'store', args: [] };
const withRecipe = (own: unknown = recipe): Coordinator =>
  altered(memoryCoordinator(), { recipe: own as CoordinatorRecipe });
const resolve = (options: LeasesOptions, ttlMs = 3_000) =>
  resolveRenewal(options, resolveTiming({ ttlMs }), withRecipe(), realRuntime);

describe('where leases are renewed from', () => {
  it('is the main thread unless asked otherwise', () => {
    expect(resolve({})).toBeUndefined();
    expect(resolve({ renewFrom: 'main' })).toBeUndefined();
  });

  it('may be a thread, which survives blocks of three ttls by default and loses the leases after that', () => {
    expect(resolve({ renewFrom: 'thread' })).toEqual({
      recipe,
      stallLimitMs: 9_000,
      onStall: 'lose',
    });
    expect(resolve({ renewFrom: 'thread' }, 100)).toMatchObject({ stallLimitMs: 300 });
    expect(resolve({ renewFrom: 'thread' }, 86_400_000)).toMatchObject({
      stallLimitMs: 86_400_000,
    });
  });

  it('may allow stalls longer than a lease is held without a renewal', () => {
    expect(resolve({ renewFrom: 'thread', stallLimitMs: 3_600_000 })).toMatchObject({
      stallLimitMs: 3_600_000,
    });
  });

  it.each<[string, LeasesOptions, RegExp]>([
    ['renewFrom', { renewFrom: 'worker' as 'thread' }, /'main' or 'thread'/],
    ['onStall', { renewFrom: 'thread', onStall: 'warn' as 'lose' }, /'lose' or 'exit'/],
    ['stallLimitMs', { renewFrom: 'thread', stallLimitMs: 199 }, /200 to 86400000/],
    ['stallLimitMs', { renewFrom: 'thread', stallLimitMs: 86_400_001 }, /200 to 86400000/],
    ['stallLimitMs', { renewFrom: 'thread', stallLimitMs: Number.NaN }, /200 to 86400000/],
    ['stallLimitMs', { stallLimitMs: 1_000 }, /no effect.*renewFrom: 'thread'/],
    ['onStall', { onStall: 'lose' }, /no effect.*renewFrom: 'thread'/],
    [
      'renewFrom',
      { renewFrom: 'thread', runtime: new VirtualRuntime() },
      /needs the real clocks.*leave runtime out/,
    ],
  ])('refuses a wrong %s: %j', (option, options, remedy) => {
    const create = () => new Leases(withRecipe(), options);
    expect(create).toThrow(OptionError);
    expect(create).toThrow(option);
    expect(create).toThrow(remedy);
  });

  it('cannot be a thread for a coordinator that says no recipe, with the remedy', () => {
    expect(() => new Leases(memoryCoordinator(), { renewFrom: 'thread' })).toThrow(
      /\(memory\).*make it from a URL or a path.*renewFrom: 'main'/,
    );
  });

  it.each([null, 'redis://user:secret@host', { module: 'file:///store.js' }])(
    'refuses a recipe that is none, without showing it: %j',
    (wrong) => {
      const create = () => new Leases(withRecipe(wrong), { renewFrom: 'thread' });
      expect(create).toThrow(/coordinator\.recipe/);
      expect(create).not.toThrow(/secret/);
    },
  );
});

describe("onStall: 'exit'", () => {
  it('needs 200 ms between giving up and the end of the ttl, less the margin for clocks', () => {
    const options: LeasesOptions = { renewFrom: 'thread', onStall: 'exit' };
    expect(resolve(options, 650)).toMatchObject({ onStall: 'exit' });
    expect(() => resolve(options, 649)).toThrow(/giveUpAfterMs leaves less than 200 ms/);
    expect(() => resolve(options, 300)).toThrow(/ttlMs of 650 or more/);
  });

  it('checks the timing of each acquisition as well, with the largest value that would do', () => {
    const settings = { recipe, stallLimitMs: 1_000, onStall: 'exit' } as const;
    checkTiming(resolveTiming({ ttlMs: 10_000, giveUpAfterMs: 9_690 }), settings);
    expect(() =>
      checkTiming(resolveTiming({ ttlMs: 10_000, giveUpAfterMs: 9_691 }), settings),
    ).toThrow(/at most 9690 ms/);
    checkTiming(resolveTiming({ ttlMs: 10_000, giveUpAfterMs: 9_691 }), {
      ...settings,
      onStall: 'lose',
    });
  });
});
