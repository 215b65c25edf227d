import { describe, expect, it } from 'vitest';
import { handoffAct } from '../../../src/cli/operate/handoff.js';
import { revokeAct } from '../../../src/cli/operate/revoke.js';
import { altered } from '../../support/altered.js';
import { createDesk } from '../session.js';
import { act, begin, call, finish, standing, toSecond } from './order.js';

describe('tenure revoke', () => {
  it('waits until the term has ended, and tells who holds the name then', async () => {
    const desk = createDesk();
    const [first, second] = [desk.actor('replica-1'), desk.actor('replica-2')];
    const term = await first.acquire('payments');
    await second.takeWhenCalled('payments');
    const operating = begin(desk, revokeAct('payments', act));
    await desk.runtime.advance(3_000);
    expect(desk.terminal.printed).toEqual([]);
    await first.release('payments', term);
    expect(await desk.runtime.advanceUntil(operating)).toBe(0);
    const now = await standing(desk);
    expect(now).toMatchObject({ state: 'held', revocation: undefined });
    expect(desk.terminal.answerText).toMatch(
      new RegExp(`^term ${term} of replica-1 at payments has ended; now it is held by replica-2`),
    );
  });

  it.each([
    ['revoke', revokeAct('payments', act)],
    ['handoff', handoffAct('payments', act, toSecond)],
  ])(
    'does nothing by %s if somebody else holds the name by then, and says so',
    async (_, order) => {
      const desk = createDesk();
      const [first, third] = [desk.actor('replica-1'), desk.actor('replica-3')];
      const term = await first.acquire('payments');
      let next = 0;
      const coordinator = altered(desk.session.coordinator, {
        async revoke(...request) {
          await first.release('payments', term);
          next = await third.acquire('payments');
          return await desk.session.coordinator.revoke(...request);
        },
      });
      const session = { ...desk.session, coordinator };
      expect(await finish({ ...desk, session }, order)).toBe(77);
      expect(desk.terminal.printed).toEqual([]);
      expect(desk.terminal.noteText).toContain(
        `somebody else holds it now, so nothing was done: held by replica-3, term ${next}`,
      );
      expect(await standing(desk)).toMatchObject({ term: next, revocation: undefined });
    },
  );

  it('is content at last if those who wait do not come', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments', { ttlMs: 1_000 });
    await desk.actor('replica-2').wait('payments');
    expect(await finish(desk, revokeAct('payments', act), { timeoutMs: 5_000 })).toBe(0);
    expect(desk.terminal.answerText).toContain('has ended; it is still free');
  });

  it('ends the term of a holder that does not answer when its ttl is over', async () => {
    const desk = createDesk();
    const term = await desk.actor('replica-1').acquire('payments');
    expect(await finish(desk, revokeAct('payments', act))).toBe(0);
    expect(desk.terminal.answerText).toBe(
      `term ${term} of replica-1 at payments has ended; now it is free`,
    );
  });

  it('says that the effect was not seen in time, and that it stands', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    expect(await finish(desk, revokeAct('payments', act), { timeoutMs: 5_000 })).toBe(75);
    expect(desk.terminal.printed).toEqual([]);
    expect(desk.terminal.noteText).toContain('not seen within 5.0 s; it stands');
    expect(await standing(desk)).toMatchObject({ revocation: act });
  });

  it('does nothing to a name that nobody holds', async () => {
    const desk = createDesk();
    expect(await finish(desk, revokeAct('payments', act), { yes: false })).toBe(1);
    expect(desk.terminal.answerText).toBe('payments: nobody holds it: free');
  });

  it('only waits if it was revoked before', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    const first = { by: 'bo@desk', reason: 'earlier' };
    await desk.session.coordinator.revoke('payments', first, call);
    expect(await finish(desk, revokeAct('payments', act), { yes: false })).toBe(0);
    const entries = await desk.session.coordinator.history('payments', call);
    expect(entries.filter(({ kind }) => kind === 'act')).toMatchObject([first]);
  });

  it('calls off a handoff, and says so', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    await desk.session.coordinator.revoke('payments', { ...act, ...toSecond }, call);
    expect(await finish(desk, revokeAct('payments', act))).toBe(0);
    expect(desk.terminal.noteText).toContain('it is not kept for replica-2 any more');
    expect(desk.terminal.answerText).toContain('now it is free');
  });

  it('tells what was and what is now as JSON', async () => {
    const desk = createDesk();
    const term = await desk.actor('replica-1').acquire('payments');
    expect(await finish(desk, revokeAct('payments', act), { format: 'json' })).toBe(0);
    const answer = JSON.parse(desk.terminal.answerText);
    expect(answer).toMatchObject({
      store: 'redis://store.example:6379',
      namespace: 'default',
      act: 'revoke',
      name: 'payments',
      before: { name: 'payments', state: 'held', term },
      after: { name: 'payments', state: 'free' },
      holds: true,
      inTime: true,
    });
    expect(answer.tookMs).toBeGreaterThanOrEqual(30_000);
    expect(answer.tookMs).toBeLessThan(31_000);
  });
});

describe('tenure handoff', () => {
  it('waits for the successor also through a lock-delay', async () => {
    const desk = createDesk();
    const second = desk.actor('replica-2');
    await desk.actor('replica-1').acquire('payments', { graceMs: 20_000 });
    const operating = begin(desk, handoffAct('payments', act, toSecond));
    await desk.runtime.advance(40_000);
    expect(await standing(desk)).toMatchObject({ state: 'lock-delay' });
    expect(desk.terminal.printed).toEqual([]);
    await desk.runtime.advance(11_000);
    await second.acquire('payments');
    expect(await desk.runtime.advanceUntil(operating)).toBe(0);
  });

  it('waits until the successor holds the name', async () => {
    const desk = createDesk();
    const [first, second] = [desk.actor('replica-1'), desk.actor('replica-2')];
    const term = await first.acquire('payments');
    const operating = begin(desk, handoffAct('payments', act, toSecond));
    await desk.runtime.settle();
    await first.release('payments', term);
    await desk.runtime.advance(2_000);
    expect(desk.terminal.printed).toEqual([]);
    const next = await second.acquire('payments');
    expect(await desk.runtime.advanceUntil(operating)).toBe(0);
    expect(desk.terminal.answerText).toContain(`now it is held by replica-2, term ${next}`);
  });

  it('ends with 1 if the successor does not come', async () => {
    const desk = createDesk();
    const first = desk.actor('replica-1');
    const term = await first.acquire('payments');
    const operating = begin(desk, handoffAct('payments', act, toSecond));
    await desk.runtime.settle();
    await first.release('payments', term);
    expect(await desk.runtime.advanceUntil(operating)).toBe(1);
    expect(desk.terminal.answerText).toContain('now it is free');
  });

  it('has nothing to do if the successor holds the name already', async () => {
    const desk = createDesk();
    const term = await desk.actor('replica-2').acquire('payments');
    expect(await finish(desk, handoffAct('payments', act, toSecond), { yes: false })).toBe(0);
    expect(desk.terminal.answerText).toBe(`payments: replica-2 holds it already, in term ${term}`);
  });

  it('ends with 1 if nobody holds the name', async () => {
    const desk = createDesk();
    expect(await finish(desk, handoffAct('payments', act, toSecond), { yes: false })).toBe(1);
  });

  it('does not believe that the name is free instead, if only one look says so', async () => {
    const desk = createDesk();
    const [first, second] = [desk.actor('replica-1'), desk.actor('replica-2')];
    const term = await first.acquire('payments');
    await second.takeWhenCalled('payments');
    let isBetween = false;
    const coordinator = altered(desk.session.coordinator, {
      async read(names, options) {
        const records = await desk.session.coordinator.read(names, options);
        const isSeen = isBetween;
        isBetween = false;
        return isSeen ? [undefined] : records;
      },
    });
    const session = { ...desk.session, coordinator };
    const operating = begin({ ...desk, session }, handoffAct('payments', act, toSecond));
    await desk.runtime.advance(1_000);
    isBetween = true;
    await first.release('payments', term);
    expect(await desk.runtime.advanceUntil(operating)).toBe(0);
    expect(desk.terminal.answerText).toContain('now it is held by replica-2');
    expect(isBetween).toBe(false);
  });
});
