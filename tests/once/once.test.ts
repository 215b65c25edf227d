import { describe, expect, it } from 'vitest';
import {
  OutcomeUnknownError,
  StoreMisconfiguredError,
  UnreachableError,
} from '../../src/errors/index.js';
import {
  EffectSupersededError,
  EffectTimeoutError,
  EffectUnderWayError,
  EffectUnknownError,
  EffectUnrecordedError,
  NotAppliedError,
  notApplied,
  ResultNotKeptError,
} from '../../src/once/index.js';
import { Shop } from './fixture.js';

const key = 'charge/order-17';

describe('an effect', () => {
  it('is had once, and its result given to everybody who asks', async () => {
    const shop = new Shop();
    const [one, other] = [shop.process('one'), shop.process('other')];
    const results = [
      await one.once.do(key, one.charge),
      await one.once.do(key, one.charge),
      await other.once.do(key, other.charge),
    ];
    expect(results).toEqual(Array(3).fill({ receipt: 'one-1' }));
    expect(shop.charges).toEqual(['one/1']);
  });

  it('is had once by many who want it at the same time, whoever of them waits', async () => {
    const shop = new Shop();
    const processes = Array.from({ length: 10 }, (_, index) => shop.process(`p${index}`));
    const asked = processes.map(({ once, charge }, index) =>
      shop.outcome(once.do(key, shop.slow(3_000, charge), index < 5 ? { waitMs: 10_000 } : {})),
    );
    const outcomes = await Promise.all(asked);
    const [winner] = shop.charges;
    expect(shop.charges).toHaveLength(1);
    const receipts = outcomes.filter((one) => !(one instanceof Error));
    expect(receipts.length).toBeGreaterThanOrEqual(5);
    for (const one of receipts) expect(one).toEqual({ receipt: winner?.replace('/', '-') });
    for (const one of outcomes)
      if (one instanceof Error) expect(one).toBeInstanceOf(EffectUnderWayError);
  });

  it('gives what JSON keeps of its result, the first time too', async () => {
    const { once } = new Shop().process('one');
    const effect = () => ({ at: new Date(0), of: undefined }) as object;
    expect(await once.do('a', effect)).toEqual({ at: '1970-01-01T00:00:00.000Z' });
    expect(await once.do('a', effect)).toEqual({ at: '1970-01-01T00:00:00.000Z' });
    expect(await once.do('b', () => {})).toBeUndefined();
    expect(await once.do('b', () => 'never')).toBeUndefined();
    expect(await once.do('c', () => null)).toBeNull();
    const polluted = await once.do('d', () => JSON.parse('{"__proto__":{"x":1},"y":2}'));
    expect(Object.getOwnPropertyNames(polluted)).toEqual(['y']);
  });

  it('is done although its result cannot be kept, and says so to everybody', async () => {
    const shop = new Shop();
    const { once } = shop.process('one');
    for (const [name, value] of Object.entries({
      big: 'x'.repeat(65_536),
      bigint: 1n,
      f: () => {},
    })) {
      const first = await shop.outcome(once.do(name, () => value));
      expect(first).toBeInstanceOf(ResultNotKeptError);
      expect((first as ResultNotKeptError).value).toBe(value);
      const again = await shop.outcome(once.do(name, () => shop.charges.push('again')));
      expect(again).toMatchObject({ code: 'TENURE_RESULT_NOT_KEPT', value: undefined });
      expect(await shop.record(name)).toMatchObject({ state: 'done' });
    }
    expect(shop.charges).toEqual([]);
  });

  it('is told its key, the attempt, and how much of its time is left', async () => {
    const shop = new Shop();
    const { once } = shop.process('one');
    const told: number[] = [];
    await shop.runtime.advanceUntil(
      once.do(
        key,
        async (context) => {
          expect(context).toMatchObject({ key, attempt: 1 });
          told.push(context.remainingMs);
          shop.runtime.freeze(4_000);
          told.push(context.remainingMs);
          shop.runtime.suspend(10_000);
          told.push(context.remainingMs);
        },
        { timeoutMs: 10_000 },
      ),
    );
    expect(told).toEqual([9_000, 5_000, 0]);
  });
});

describe('an effect that throws', () => {
  it('leaves its key unknown, and its error is the cause as it is', async () => {
    const shop = new Shop();
    const { once, log } = shop.process('one');
    const error = Object.assign(new Error('socket hang up'), { request: { id: 7 } });
    const outcome = await shop.outcome(
      once.do(key, () => {
        throw error;
      }),
    );
    expect(outcome).toBeInstanceOf(EffectUnknownError);
    expect(outcome).toMatchObject({ key, attempt: 1, startedBy: 'one' });
    expect((outcome as Error).cause).toBe(error);
    expect(await shop.record(key)).toMatchObject({
      ...{ state: 'unknown', detail: 'Error: socket hang up' },
    });
    const { once: another, charge } = shop.process('other');
    const later = await shop.outcome(another.do(key, charge));
    expect((later as Error).cause).toBeUndefined();
    expect(later).toMatchObject({
      ...{ code: 'TENURE_EFFECT_UNKNOWN', attempt: 1, startedBy: 'one' },
    });
    expect(shop.charges).toEqual([]);
    expect(log).toEqual([`unknown ${key} 1`]);
  });

  it.each([
    ['an object without a prototype', Object.assign(Object.create(null), { code: 'ECARD' })],
    ['what fails when it is asked for its text', { toString: () => expect.fail('no text') }],
    ['an error whose message is no text', Object.assign(new Error(), { message: Symbol('no') })],
  ])('leaves its key unknown though it has no text: %s', async (_, thrown) => {
    const shop = new Shop();
    const { once, log } = shop.process('one');
    const outcome = await shop.outcome(once.do(key, () => Promise.reject(thrown)));
    expect(outcome).toBeInstanceOf(EffectUnknownError);
    expect((outcome as Error).cause === thrown).toBe(true);
    const detail = 'it threw something that has no text';
    expect(await shop.record(key)).toMatchObject({ state: 'unknown', detail });
    expect(log).toEqual([`unknown ${key} 1`]);
  });

  it('keeps no password of its message', async () => {
    const shop = new Shop();
    const { once } = shop.process('one');
    const thrown = () => Promise.reject(new Error('redis://me:hunter2@h\nwas closed'));
    await shop.outcome(once.do(key, thrown));
    expect((await shop.record(key))?.detail).toBe('Error: redis://***@h was closed');
  });

  it('frees its key by saying that it did not take place', async () => {
    const shop = new Shop();
    const { once, charge, log } = shop.process('one');
    const declined = new Error('card declined');
    const outcome = await shop.outcome(
      once.do(key, () => {
        throw notApplied(declined);
      }),
    );
    expect(outcome).toBeInstanceOf(NotAppliedError);
    expect((outcome as Error).cause).toBe(declined);
    expect(await shop.record(key)).toMatchObject({ state: 'free', attempt: 1 });
    expect(await once.do(key, charge)).toEqual({ receipt: 'one-2' });
    expect(log).toEqual([]);
  });

  it('frees its key by what has no text, too', async () => {
    const shop = new Shop();
    const { once } = shop.process('one');
    const declined = Object.create(null);
    const outcome = await shop.outcome(once.do(key, () => Promise.reject(notApplied(declined))));
    expect(outcome).toBeInstanceOf(NotAppliedError);
    expect((outcome as Error).cause === declined).toBe(true);
    expect(await shop.record(key)).toMatchObject({ state: 'free', attempt: 1 });
  });
});

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

describe('bad input', () => {
  it('is refused before anything is begun', async () => {
    const shop = new Shop();
    const { once, charge } = shop.process('one');
    const refused = async (asked: Promise<unknown>, option: string) =>
      expect(asked).rejects.toMatchObject({ code: 'TENURE_BAD_OPTION', option });
    await refused(once.do('', charge), 'key');
    await refused(once.do(key, undefined as never), 'effect');
    await refused(once.do(key, charge, null as never), 'options');
    await refused(once.do(key, charge, { timeoutMs: 99 }), 'timeoutMs');
    await refused(once.do(key, charge, { keepMs: 59_999 }), 'keepMs');
    await refused(once.do(key, charge, { waitMs: -1 }), 'waitMs');
    await refused(once.do(key, charge, { onUnknown: 'again' as never }), 'onUnknown');
    await refused(once.do(key, charge, { signal: {} as never }), 'signal');
    expect(await shop.record(key)).toBeUndefined();
    expect(() => shop.process('a b')).toThrow(/id is not a holder id/);
    expect(() => shop.process('one', { callTimeoutMs: 1 })).toThrow(/callTimeoutMs/);
    expect(() => shop.process('one', { keepUnknownMs: 1 })).toThrow(/keepUnknownMs/);
  });
});
