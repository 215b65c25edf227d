import { describe, expect, it } from 'vitest';
import { handoffAct } from '../../../src/cli/operate/handoff.js';
import { revokeAct } from '../../../src/cli/operate/revoke.js';
import { suspendAct } from '../../../src/cli/operate/suspend.js';
import { createDesk, type Desk } from '../session.js';
import { act, begin, finish, standing, toSecond } from './order.js';

describe('the plan', () => {
  it('tells before anything is done what holds the name, what will happen, by when, and why', async () => {
    const desk = createDesk();
    const term = await desk.actor('replica-1').acquire('payments');
    await desk.actor('replica-2').wait('payments');
    desk.terminal.answer = 'n';
    await finish(desk, revokeAct('payments', act), { yes: false });
    expect(desk.terminal.notes).toEqual([
      'revoke payments',
      '  at:    redis://store.example:6379, namespace default',
      `  now:   held by replica-1, term ${term}, 30.0 s left`,
      `  then:  replica-1 is refused its next renewal, so term ${term} ends`,
      '         replica-2 is called first of those who wait for it',
      '  when:  within 30.0 s, sooner if the holder lets go',
      '  why:   INC-12, by ana@desk',
      'nothing was done',
    ]);
  });

  it('tells that a lock-delay may follow', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments', { graceMs: 300_000 });
    desk.terminal.answer = '';
    await finish(desk, suspendAct('payments', act), { yes: false });
    const plan = desk.terminal.noteText.replace(/\s+/g, ' ');
    expect(plan).toContain('if it does not, a lock-delay of 5 m follows');
  });

  it.each([
    ['who is no candidate', async () => {}, 'replica-2 is not among the candidates'],
    [
      'who only observes',
      async (desk: Desk) => desk.actor('replica-2').observe('payments'),
      'replica-2 is a candidate that observes only',
    ],
    [
      'who does not wait now',
      async (desk: Desk) => desk.actor('replica-2').stand('payments'),
      'replica-2 is a candidate that does not wait now',
    ],
  ])('warns of a successor %s', async (_what, prepare, warning) => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    await prepare(desk);
    desk.terminal.answer = 'n';
    await finish(desk, handoffAct('payments', act, toSecond), { yes: false });
    expect(desk.terminal.noteText).toContain(`  risk:  ${warning}`);
    expect(desk.terminal.noteText).toContain('stands empty for 30.0 s');
  });

  it('warns of nothing if the successor waits', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    await desk.actor('replica-2').wait('payments');
    desk.terminal.answer = 'n';
    await finish(desk, handoffAct('payments', act, toSecond), { yes: false });
    expect(desk.terminal.noteText).not.toContain('risk:');
  });
});

describe.each([
  ['revoke', revokeAct('payments', act)],
  ['handoff', handoffAct('payments', act, toSecond)],
  ['suspend', suspendAct('payments', act)],
])('the consent to %s', (_verb, operatorAct) => {
  it.each(['', 'n', 'no', 'yes please'])('is not given by %j', async (answer) => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    const before = await standing(desk);
    desk.terminal.answer = answer;
    expect(await finish(desk, operatorAct, { yes: false })).toBe(77);
    expect(await standing(desk)).toEqual(before);
  });

  it.each(['y', 'Y', 'yes', ' yes '])('is given by %j', async (answer) => {
    const desk = createDesk();
    const first = desk.actor('replica-1');
    const term = await first.acquire('payments');
    await desk.actor('replica-2').takeWhenCalled('payments');
    desk.terminal.answer = answer;
    const operating = begin(desk, operatorAct, { yes: false });
    await desk.runtime.settle();
    expect(await first.renew('payments', term)).toBe('not-yours');
    await first.release('payments', term);
    expect(await desk.runtime.advanceUntil(operating)).toBe(0);
    expect(desk.terminal.questions).toEqual(['Go on? [y/N] ']);
  });

  it('needs --yes where nobody can be asked, and nothing is done without', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    const before = await standing(desk);
    await expect(finish(desk, operatorAct, { yes: false })).rejects.toThrow('pass --yes');
    expect(await standing(desk)).toEqual(before);
    expect(desk.terminal.noteText).toContain('then:');
  });

  it('does not hold for what has come about meanwhile', async () => {
    const desk = createDesk();
    const first = desk.actor('replica-1');
    const term = await first.acquire('payments');
    desk.terminal.answer = 'y';
    Object.assign(desk.terminal, {
      ask: async () => {
        await first.release('payments', term);
        await desk.actor('replica-3').acquire('payments');
        return 'y';
      },
    });
    expect(await finish(desk, operatorAct, { yes: false })).toBe(77);
    expect(await standing(desk)).toMatchObject({ state: 'held', revocation: undefined });
    expect(desk.terminal.noteText).toContain('meanwhile something else stands there');
  });
});
