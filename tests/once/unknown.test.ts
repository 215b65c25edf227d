import { describe, expect, it } from 'vitest';
import { EffectUnknownError } from '../../src/once/index.js';
import { Shop } from './fixture.js';

const key = 'charge/order-17';

describe('an attempt of unknown outcome', () => {
  /** A process that has begun, and died with it. */
  async function died(shop: Shop): Promise<void> {
    const { once, link } = shop.process('dead', { callTimeoutMs: 100 });
    void once.do(key, () => new Promise(() => {}), { timeoutMs: 1_000 }).catch(() => {});
    await shop.runtime.settle();
    link.cut();
    await shop.runtime.advance(1_000);
    expect(await shop.record(key)).toMatchObject({ state: 'unknown', startedBy: 'dead' });
  }

  it('is repeated only if the caller says so, by one of many, as the next attempt', async () => {
    const shop = new Shop();
    await died(shop);
    const [careful, bold, bolder] = ['careful', 'bold', 'bolder'].map((id) => shop.process(id));
    if (careful === undefined || bold === undefined || bolder === undefined) throw new Error();
    expect(await shop.outcome(careful.once.do(key, careful.charge))).toBeInstanceOf(
      EffectUnknownError,
    );
    const options = { onUnknown: 'repeat', waitMs: 5_000 } as const;
    const results = await Promise.all(
      [bold, bolder].map(({ once, charge }) =>
        shop.outcome(once.do(key, shop.slow(500, charge), options)),
      ),
    );
    expect(shop.charges).toHaveLength(1);
    expect(shop.charges[0]).toMatch(/^bold(er)?\/2$/);
    expect(results[0]).toEqual(results[1]);
    const [settlement] = (await shop.record(key))?.settlements ?? [];
    expect(settlement).toMatchObject({ attempt: 1, outcome: 'repeated', reason: 'onUnknown' });
  });

  it('is decided by a function that is shown it, and the decision stands', async () => {
    const shop = new Shop();
    await died(shop);
    const { once, charge, log } = shop.process('one');
    const receipt = await once.do(key, charge, {
      onUnknown: async (unknown) => {
        expect(unknown).toMatchObject({ key, attempt: 1, startedBy: 'dead', state: 'unknown' });
        return { done: { receipt: 'from the ledger' } };
      },
    });
    expect(receipt).toEqual({ receipt: 'from the ledger' });
    expect(await once.do(key, charge)).toEqual(receipt);
    expect(shop.charges).toEqual([]);
    expect(log).toEqual([`unknown ${key} 1`, `decided ${key} 1`]);
    const [settlement] = (await shop.record(key))?.settlements ?? [];
    expect(settlement).toMatchObject({ outcome: 'done', by: 'one' });
  });

  it('is decided once: who decides later is given what was decided before', async () => {
    const shop = new Shop();
    await died(shop);
    const [slow, fast] = [shop.process('slow'), shop.process('fast')];
    const decided = slow.once.do(key, slow.charge, {
      onUnknown: async () => {
        await fast.once.do(key, fast.charge, { onUnknown: 'repeat' });
        return { done: { receipt: 'wrong' } };
      },
    });
    expect(await decided).toEqual({ receipt: 'fast-2' });
    expect(shop.charges).toEqual(['fast/2']);
  });

  it('is not repeated twice by decisions that were made about the same attempt', async () => {
    const shop = new Shop();
    await died(shop);
    const [slow, fast] = [shop.process('slow'), shop.process('fast')];
    const asked: number[] = [];
    const decided = slow.once.do(key, slow.charge, {
      onUnknown: async ({ attempt }) => {
        asked.push(attempt);
        if (attempt > 1) return 'repeat';
        const broken = () => Promise.reject(new Error('broken'));
        await fast.once.do(key, broken, { onUnknown: 'repeat' }).catch(() => {});
        return 'repeat';
      },
    });
    // Attempt 2 is unknown as well: it is asked about anew.
    expect(await decided).toEqual({ receipt: 'slow-3' });
    expect(asked).toEqual([1, 2]);
    expect((await shop.record(key))?.settlements).toMatchObject([
      { attempt: 1, outcome: 'repeated', by: 'fast' },
      { attempt: 2, outcome: 'repeated', by: 'slow' },
    ]);
  });

  it('is not settled by a decision that was made about another attempt', async () => {
    const shop = new Shop();
    await died(shop);
    const [slow, fast] = [shop.process('slow'), shop.process('fast')];
    const decided = slow.once.do(key, slow.charge, {
      onUnknown: async ({ attempt }) => {
        const broken = () => Promise.reject(new Error('broken'));
        if (attempt === 1) await fast.once.do(key, broken, { onUnknown: 'repeat' }).catch(() => {});
        return { done: { receipt: `of attempt ${attempt}` } };
      },
    });
    expect(await decided).toEqual({ receipt: 'of attempt 2' });
  });

  it.each([undefined, null, 'done', {}, 7])('%j is no decision', async (decision) => {
    const shop = new Shop();
    await died(shop);
    const { once, charge } = shop.process('one');
    const outcome = await shop.outcome(
      once.do(key, charge, { onUnknown: () => decision as never }),
    );
    expect(outcome).toMatchObject({ code: 'TENURE_BAD_OPTION', option: 'onUnknown' });
    expect(await shop.record(key)).toMatchObject({ state: 'unknown', attempt: 1 });
  });

  it('is settled by an operator, of whom it is remembered who and why', async () => {
    const shop = new Shop();
    await died(shop);
    const { once, charge } = shop.process('one');
    const act = { by: 'dora', reason: 'the bank has no such charge' };
    expect(await once.unknown()).toMatchObject([{ key, state: 'unknown', startedBy: 'dead' }]);
    const [unknown] = await once.unknown();
    if (unknown === undefined) throw new Error();
    const other = { ...unknown, attempt: 2 };
    expect(await once.settle(key, 'not-applied', { ...act, of: other })).toMatchObject({
      isSettled: false,
    });
    expect(await once.settle(key, 'not-applied', { ...act, of: unknown })).toMatchObject({
      ...{ isSettled: true, record: { state: 'free', settlements: [{ ...act, attempt: 1 }] } },
    });
    expect(await once.settle(key, { done: 1 }, act)).toMatchObject({ isSettled: false });
    expect(await once.unknown()).toEqual([]);
    expect(await once.do(key, charge)).toEqual({ receipt: 'one-2' });
    await expect(once.settle(key, { done: 1n }, act)).rejects.toMatchObject({ option: 'done' });
  });

  it('is not settled by nobody, nor as what is no outcome', async () => {
    const shop = new Shop();
    await died(shop);
    const { once } = shop.process('one');
    const act = { by: 'dora', reason: 'seen at the bank' };
    for (const nobody of [undefined, null, 'dora'])
      await expect(once.settle(key, 'not-applied', nobody as never)).rejects.toMatchObject({
        ...{ code: 'TENURE_BAD_OPTION', option: 'act' },
      });
    for (const none of [undefined, null, 'done', {}])
      await expect(once.settle(key, none as never, act)).rejects.toMatchObject({
        ...{ code: 'TENURE_BAD_OPTION', option: 'outcome' },
      });
    expect(await shop.record(key)).toMatchObject({ state: 'unknown', attempt: 1 });
  });
});
