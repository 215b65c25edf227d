import { describe, expect, it } from 'vitest';
import {
  EffectSupersededError,
  EffectTimeoutError,
  EffectUnknownError,
  NotAppliedError,
  notApplied,
} from '../../src/once/index.js';
import { Shop } from './fixture.js';

const key = 'charge/order-17';

describe('an effect that takes too long', () => {
  it('is aborted before others learn that its outcome is unknown', async () => {
    const shop = new Shop();
    const { once } = shop.process('one');
    let state: string | undefined;
    const outcome = await shop.outcome(
      once.do(
        key,
        ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', async () => {
              state = (await shop.record(key))?.state;
              reject(signal.reason);
            });
          }),
        { timeoutMs: 5_000 },
      ),
    );
    expect(state).toBe('started');
    expect(outcome).toBeInstanceOf(EffectUnknownError);
    expect((outcome as Error).cause).toBeInstanceOf(EffectTimeoutError);
    expect(await shop.record(key)).toMatchObject({ state: 'unknown' });
  });

  it('does not hold up its caller, and is recorded when it ends late', async () => {
    const shop = new Shop();
    const { once, charge, log } = shop.process('one');
    const outcome = await shop.outcome(
      once.do(key, shop.slow(8_000, charge), { timeoutMs: 5_000 }),
    );
    expect(outcome).toBeInstanceOf(EffectUnknownError);
    expect(shop.runtime.now().monotonicMs).toBeCloseTo(5_000, 0);
    expect(await shop.record(key)).toMatchObject({ state: 'unknown' });
    await shop.runtime.advance(3_000);
    expect(await shop.record(key)).toMatchObject({ state: 'done', result: '{"receipt":"one-1"}' });
    expect(log).toEqual([`unknown ${key} 1`, `recordedLate ${key} 1`]);
  });

  it('is told when it ends after its key was settled, and changes nothing', async () => {
    const shop = new Shop();
    const [late, bold] = [shop.process('late'), shop.process('bold')];
    await shop.outcome(late.once.do(key, shop.slow(8_000, late.charge), { timeoutMs: 5_000 }));
    const receipt = await bold.once.do(key, bold.charge, { onUnknown: 'repeat' });
    await shop.runtime.advance(3_000);
    expect(late.log).toEqual([`unknown ${key} 1`, `superseded ${key} 1`]);
    expect(shop.charges).toEqual(['bold/2', 'late/1']);
    expect(await bold.once.do(key, bold.charge)).toEqual(receipt);
  });

  it('is told so in its own call, if the process was frozen meanwhile', async () => {
    const shop = new Shop();
    const [late, bold] = [shop.process('late'), shop.process('bold')];
    const frozen = shop.outcome(
      late.once.do(key, async (context) => {
        shop.runtime.freeze(90_000);
        await bold.once.do(key, bold.charge, { onUnknown: 'repeat' });
        return late.charge(context);
      }),
    );
    const outcome = await frozen;
    expect(outcome).toBeInstanceOf(EffectSupersededError);
    expect(outcome).toMatchObject({ attempt: 1, record: { state: 'done', attempt: 2 } });
    expect((outcome as EffectSupersededError).value).toEqual({ receipt: 'late-1' });
  });

  it('is not called at all if the store leaves it no time', async () => {
    const shop = new Shop();
    const { once, link, charge } = shop.process('one');
    link.disturb('reply', 'hold', { operation: 'begin', count: 1 });
    const asked = once.do(key, charge, { timeoutMs: 1_000 }).catch((error: Error) => error);
    await shop.runtime.settle();
    shop.runtime.freeze(950);
    link.flush();
    expect(await shop.outcome(asked)).toMatchObject({ code: 'TENURE_UNREACHABLE' });
    await shop.runtime.settle();
    expect(shop.charges).toEqual([]);
    expect(await shop.record(key)).toMatchObject({ state: 'free', attempt: 1 });
  });
});

describe('a signal of the caller', () => {
  it('ends the waiting', async () => {
    const shop = new Shop();
    const [one, other] = [shop.process('one'), shop.process('other')];
    const first = shop.outcome(one.once.do(key, shop.slow(20_000, one.charge)));
    await shop.runtime.settle();
    const ending = new AbortController();
    const asked = other.once.do(key, other.charge, { waitMs: 60_000, signal: ending.signal });
    const reason = new Error('shutdown');
    shop.runtime.setTimer(1_000, () => ending.abort(reason));
    expect(await shop.outcome(asked)).toBe(reason);
    expect(shop.runtime.now().monotonicMs).toBeLessThan(20_000);
    await first;
  });

  it('that aborts while the key is being begun keeps the effect from being called', async () => {
    const shop = new Shop();
    const { once, charge } = shop.process('one');
    const ending = new AbortController();
    const asked = shop.outcome(once.do(key, charge, { signal: ending.signal }));
    ending.abort(new Error('changed my mind'));
    expect(await asked).toMatchObject({ message: 'changed my mind' });
    await shop.runtime.settle();
    expect(await shop.record(key)).toMatchObject({ state: 'free' });
    expect(shop.charges).toEqual([]);
  });

  it('reaches the effect, which decides what that means', async () => {
    const shop = new Shop();
    const { once } = shop.process('one');
    const ending = new AbortController();
    const asked = shop.outcome(
      once.do(
        key,
        ({ signal }) =>
          new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(notApplied(signal.reason))),
          ),
        { signal: ending.signal },
      ),
    );
    await shop.runtime.settle();
    ending.abort(new Error('shutdown'));
    expect(await asked).toBeInstanceOf(NotAppliedError);
    expect(await shop.record(key)).toMatchObject({ state: 'free' });
  });
});
