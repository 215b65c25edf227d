import { describe, expect, it } from 'vitest';
import { commandWriter } from '../../../src/cli/next-command.js';
import type { OnceSession } from '../../../src/cli/once/session.js';
import { type SettleOrder, settle } from '../../../src/cli/once/settle.js';
import { PendingAct } from '../../../src/cli/pending-act.js';
import { Shop } from '../../once/fixture.js';
import { RecordingTerminal } from '../session.js';

const order: SettleOrder = {
  ...{ key: 'mail/1', outcome: { kind: 'not-applied', keepMs: 60_000 } },
  ...{ by: 'ana', reason: 'audit', timeoutMs: 20_000, yes: true, format: 'text' },
};

/** An operator at a memory that a shop has left an unknown outcome in. */
async function createDesk() {
  const shop = new Shop();
  const { once, link, charge } = shop.process('operator');
  const failing = async () => {
    throw new Error('the line broke');
  };
  await shop.outcome(shop.process('replica-1').once.do('mail/1', failing));
  const terminal = new RecordingTerminal();
  const stopping = new AbortController();
  const session: OnceSession = {
    ...{ store: once.store, terminal, runtime: shop.runtime },
    ...{
      signal: stopping.signal,
      pending: new PendingAct(stopping.signal),
      address: 'redis://store.example:6379',
    },
    ...{ namespace: 'default', write: commandWriter({}) },
  };
  const begin = (more: Partial<SettleOrder> = {}) => settle(session, { ...order, ...more });
  return { shop, link, charge, terminal, begin };
}

describe('a settlement whose answer was lost', () => {
  it('is asked for again, and holds once', async () => {
    const { shop, link, terminal, begin } = await createDesk();
    link.disturb('reply', 'drop', { operation: 'settle', count: 1 });
    expect(await shop.runtime.advanceUntil(begin())).toBe(0);
    expect(terminal.noteText).toContain('the store did not answer; trying again');
    expect((await shop.record('mail/1'))?.settlements).toHaveLength(1);
  });

  it('is known for its own, though the key was begun again since', async () => {
    const { shop, link, charge, terminal, begin } = await createDesk();
    link.disturb('reply', 'drop', { operation: 'settle', count: 1 });
    const settling = begin();
    await shop.runtime.settle();
    await shop.process('replica-2').once.do('mail/1', charge);
    expect(await shop.runtime.advanceUntil(settling)).toBe(0);
    expect(terminal.answerText).toContain('mail/1 was free, and is begun again: done');
    expect(await shop.record('mail/1')).toMatchObject({ state: 'done', attempt: 2 });
  });

  it('fails when the time is up', async () => {
    const { shop, link, begin } = await createDesk();
    link.disturb('request', 'drop', { operation: 'settle' });
    expect(await shop.outcome(begin())).toMatchObject({ code: 'TENURE_OUTCOME_UNKNOWN' });
    expect(await shop.record('mail/1')).toMatchObject({ state: 'unknown' });
  });
});

describe('the consent to a settlement', () => {
  it.each([
    ['n', 77, 'unknown'],
    ['', 77, 'unknown'],
    [' yes ', 0, 'free'],
  ])('is asked for: %j', async (answer, status, state) => {
    const { shop, terminal, begin } = await createDesk();
    terminal.answer = answer;
    expect(await shop.runtime.advanceUntil(begin({ yes: false }))).toBe(status);
    expect(terminal.questions).toEqual(['Go on? [y/N] ']);
    expect(await shop.record('mail/1')).toMatchObject({ state });
  });

  it.each([
    ['settled it', 'not-applied' as const, 'free since'],
    ['settled it as done', { done: 7 }, 'done since'],
  ])('does not hold if somebody has %s meanwhile', async (_, outcome, stands) => {
    const { shop, terminal, begin } = await createDesk();
    const other = shop.process('other').once;
    terminal.answer = 'y';
    Object.assign(terminal, {
      ask: async () => {
        await other.settle('mail/1', outcome, { by: 'bob', reason: 'seen' });
        return 'y';
      },
    });
    expect(await shop.runtime.advanceUntil(begin({ yes: false }))).toBe(77);
    expect(terminal.noteText).toContain('so nothing was done');
    expect(terminal.noteText).toContain(stands);
    expect((await shop.record('mail/1'))?.settlements).toMatchObject([{ by: 'bob' }]);
  });

  it('does not hold for another attempt that has become unknown meanwhile', async () => {
    const { shop, terminal, begin } = await createDesk();
    const other = shop.process('other').once;
    const failing = async () => {
      throw new Error('again');
    };
    terminal.answer = 'y';
    Object.assign(terminal, {
      ask: async () => {
        await other.do('mail/1', failing, { onUnknown: 'repeat' }).catch(() => {});
        return 'y';
      },
    });
    expect(await shop.runtime.advanceUntil(begin({ yes: false }))).toBe(77);
    expect(await shop.record('mail/1')).toMatchObject({ state: 'unknown', attempt: 2 });
  });
});
