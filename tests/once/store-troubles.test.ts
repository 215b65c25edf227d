import { describe, expect, it } from 'vitest';
import {
  OutcomeUnknownError,
  StoreMisconfiguredError,
  UnreachableError,
} from '../../src/errors/index.js';
import { EffectUnrecordedError } from '../../src/once/index.js';
import { Shop } from './fixture.js';

const key = 'charge/order-17';

describe('a store that cannot be told', () => {
  it('of a beginning keeps the effect from being called', async () => {
    const shop = new Shop();
    const { once, link, charge } = shop.process('one');
    link.cut();
    expect(await shop.outcome(once.do(key, charge))).toMatchObject({ code: 'TENURE_UNREACHABLE' });
    link.heal();
    expect(await shop.record(key)).toBeUndefined();
    expect(await once.do(key, charge)).toEqual({ receipt: 'one-1' });
  });

  it('whose reply to a beginning is lost is asked again, and the attempt is the same', async () => {
    const shop = new Shop();
    const { once, charge } = shop.process('one', { callTimeoutMs: 2_000 });
    // The caller hears at once that the connection broke; only the reply is lost.
    const { store } = once;
    const { begin } = store;
    let lostCount = 0;
    store.begin = async (request, call) => {
      const result = await begin.call(store, request, call);
      lostCount += 1;
      if (lostCount > 1) return result;
      throw new OutcomeUnknownError('the connection broke');
    };
    expect(await shop.outcome(once.do(key, charge))).toEqual({ receipt: 'one-1' });
    expect(lostCount).toBe(2);
  });

  it('whose replies to a beginning are lost is told that nothing was called, once it answers', async () => {
    const shop = new Shop();
    const { once, link, charge } = shop.process('one', { callTimeoutMs: 1_000 });
    link.disturb('reply', 'drop');
    const outcome = await shop.outcome(once.do(key, charge));
    expect(outcome).toMatchObject({ code: 'TENURE_OUTCOME_UNKNOWN' });
    link.heal();
    await shop.runtime.advance(3_000);
    expect(await shop.record(key)).toMatchObject({ state: 'free', attempt: 1 });
    expect(shop.charges).toEqual([]);
    expect(await once.do(key, charge)).toEqual({ receipt: 'one-2' });
  });

  it('yet, as the beginning is still on its way when it is given up, is told after it has arrived', async () => {
    const shop = new Shop();
    const { once, charge } = shop.process('one', { callTimeoutMs: 2_000 });
    const { store } = once;
    const begin = store.begin.bind(store);
    let askedCount = 0;
    store.begin = async (request, call) => {
      askedCount += 1;
      if (askedCount > 1) throw new StoreMisconfiguredError('read-only');
      shop.runtime.setTimer(700, () => void begin(request, call));
      throw new OutcomeUnknownError('the connection broke');
    };
    const outcome = await shop.outcome(once.do(key, charge));
    expect(outcome).toMatchObject({ code: 'TENURE_STORE_MISCONFIGURED' });
    await shop.runtime.advance(800);
    expect(await shop.record(key)).toMatchObject({ state: 'started' });
    await shop.runtime.advance(1_200);
    expect(await shop.record(key)).toMatchObject({ state: 'free' });
    expect(shop.charges).toEqual([]);
  });

  it('to a beginning stays what the caller is told, though the last request surely did nothing', async () => {
    const shop = new Shop();
    const { once, charge } = shop.process('one');
    const { store } = once;
    const begin = store.begin.bind(store);
    let askedCount = 0;
    store.begin = async (request, call) => {
      askedCount += 1;
      if (askedCount > 1) throw new UnreachableError('nobody listens');
      await begin(request, call);
      throw new OutcomeUnknownError('the connection broke');
    };
    const outcome = await shop.outcome(once.do(key, charge));
    expect(outcome).toMatchObject({ code: 'TENURE_OUTCOME_UNKNOWN' });
    expect(askedCount).toBeGreaterThan(1);
    await shop.runtime.advance(1_000);
    expect(await shop.record(key)).toMatchObject({ state: 'free' });
    expect(shop.charges).toEqual([]);
  });

  it('of an end is told again until the deadline, and the caller gets the result', async () => {
    const shop = new Shop();
    const { once, link, charge } = shop.process('one');
    const asked = shop.outcome(once.do(key, shop.slow(1_000, charge)));
    await shop.runtime.settle();
    link.cut();
    shop.runtime.setTimer(30_000, () => link.heal());
    expect(await asked).toEqual({ receipt: 'one-1' });
    expect(await shop.record(key)).toMatchObject({ state: 'done' });
  });

  it('of an end for longer is told later, and the caller is told what it does not know', async () => {
    const shop = new Shop();
    const { once, link, charge, log } = shop.process('one');
    const asked = shop.outcome(once.do(key, shop.slow(1_000, charge), { timeoutMs: 10_000 }));
    await shop.runtime.settle();
    link.cut();
    const outcome = await asked;
    expect(outcome).toBeInstanceOf(EffectUnrecordedError);
    expect((outcome as EffectUnrecordedError).value).toEqual({ receipt: 'one-1' });
    expect(log).toEqual([]);
    link.heal();
    await shop.runtime.advance(6_000);
    expect(await shop.record(key)).toMatchObject({ state: 'done', result: '{"receipt":"one-1"}' });
    expect(log).toEqual([`recordedLate ${key} 1`]);
  });

  it('is given up after ten minutes, which is told', async () => {
    const shop = new Shop();
    const { once, link, charge, log } = shop.process('one');
    const asked = shop.outcome(once.do(key, shop.slow(1_000, charge), { timeoutMs: 10_000 }));
    await shop.runtime.settle();
    link.cut();
    await asked;
    await shop.runtime.advance(11 * 60_000);
    expect(log).toEqual([`unrecorded ${key} 1`]);
    expect(shop.runtime.pendingTimerCount).toBe(0);
  });
});

describe('close', () => {
  it('waits for the effects under way, takes no more, and leaves nothing behind', async () => {
    const shop = new Shop();
    const { once, charge } = shop.process('one');
    const asked = shop.outcome(once.do(key, shop.slow(2_000, charge)));
    await shop.runtime.settle();
    const closing = once.close();
    await expect(once.do('another', charge)).rejects.toMatchObject({ code: 'TENURE_CLOSED' });
    await shop.runtime.advanceUntil(closing);
    expect(await asked).toEqual({ receipt: 'one-1' });
    expect(await shop.record(key)).toMatchObject({ state: 'done' });
    await once.close();
    expect(shop.runtime.pendingTimerCount).toBe(0);
  });

  it('says once more what the store does not know', async () => {
    const shop = new Shop();
    const { once, link, charge } = shop.process('one');
    const asked = shop.outcome(once.do(key, shop.slow(1_000, charge), { timeoutMs: 10_000 }));
    await shop.runtime.settle();
    link.cut();
    expect(await asked).toBeInstanceOf(EffectUnrecordedError);
    link.heal();
    await once.close();
    expect(await shop.record(key)).toMatchObject({ state: 'done' });
    expect(shop.runtime.pendingTimerCount).toBe(0);
  });
});
