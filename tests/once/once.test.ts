import { describe, expect, it } from 'vitest';
import {
  EffectUnderWayError,
  EffectUnknownError,
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

  it('tells of a promise in place of an effect, and begins nothing', async () => {
    const { once } = new Shop().process('one');
    const charging = Promise.resolve('receipt');
    const done = once.do('a', charging as never);
    await expect(done).rejects.toMatchObject({ code: 'TENURE_BAD_OPTION', option: 'effect' });
    await expect(done).rejects.toThrow(
      'effect is a promise: pass the function that has the effect',
    );
    expect(await once.read('a')).toBeUndefined();
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
    const within = await once.do('e', () => JSON.parse('[{"__proto__":{"x":1},"y":2}]'));
    expect(Object.getOwnPropertyNames(within[0])).toEqual(['y']);
  });

  it('gives a result that is nested as deep as JSON can write it', async () => {
    const { once } = new Shop().process('one');
    const depth = 2_900;
    const text = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    for (const called of ['first', 'again'])
      expect(JSON.stringify(await once.do('deep', () => JSON.parse(text))), called).toBe(text);
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

  it('leaves its key unknown though nobody can ask what it threw', async () => {
    const shop = new Shop();
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    await shop.outcome(shop.process('one').once.do(key, () => Promise.reject(proxy)));
    expect(await shop.record(key)).toMatchObject({
      state: 'unknown',
      detail: expect.stringContaining('revoked'),
    });
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
