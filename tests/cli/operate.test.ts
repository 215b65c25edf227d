import { describe, expect, it } from 'vitest';
import type { OperatorAct } from '../../src/cli/operate/act.js';
import { handoffAct } from '../../src/cli/operate/handoff.js';
import { operate } from '../../src/cli/operate/operate.js';
import { resumeAct } from '../../src/cli/operate/resume.js';
import { revokeAct } from '../../src/cli/operate/revoke.js';
import { suspendAct } from '../../src/cli/operate/suspend.js';
import { override } from '../leases/fixture.js';
import { createDesk, type Desk } from './session.js';

const act = { by: 'ana@desk', reason: 'INC-12' };
const toSecond = { to: 'replica-2', reserveMs: 30_000 };
const call = { timeoutMs: 1_000 };

interface Options {
  readonly yes?: boolean;
  readonly timeoutMs?: number;
  readonly format?: 'text' | 'json';
}

function begin(desk: Desk, operatorAct: OperatorAct, options: Options = {}): Promise<number> {
  const { yes = true, timeoutMs = 60_000, format = 'text' } = options;
  return operate(desk.session, operatorAct, { yes, timeoutMs, format });
}

function finish(desk: Desk, operatorAct: OperatorAct, options: Options = {}): Promise<number> {
  return desk.runtime.advanceUntil(begin(desk, operatorAct, options));
}

const standing = async ({ session }: Desk) =>
  (await session.coordinator.read(['payments'], call))[0];

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

  it('waits for the term that it ended, be it another one than in the plan', async () => {
    const desk = createDesk();
    const [first, third] = [desk.actor('replica-1'), desk.actor('replica-3')];
    const term = await first.acquire('payments');
    const coordinator = override(desk.session.coordinator, {
      async revoke(...request) {
        await first.release('payments', term);
        await third.acquire('payments');
        return await desk.session.coordinator.revoke(...request);
      },
    });
    const operating = begin(
      { ...desk, session: { ...desk.session, coordinator } },
      revokeAct('payments', act),
    );
    await desk.runtime.advance(10_000);
    expect(desk.terminal.printed).toEqual([]);
    expect(await desk.runtime.advanceUntil(operating)).toBe(0);
    expect(desk.terminal.answerText).toContain('of replica-3 at payments has ended');
  });

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
});

describe('tenure suspend', () => {
  it('waits until nobody can believe in the term any more', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    const operating = begin(desk, suspendAct('payments', act));
    await desk.runtime.advance(29_000);
    expect(desk.terminal.printed).toEqual([]);
    expect(await desk.runtime.advanceUntil(operating)).toBe(0);
    expect(desk.terminal.answerText).toBe('payments is suspended, and nobody holds it');
  });

  it('suspends a free name at once', async () => {
    const desk = createDesk();
    const before = desk.runtime.now().monotonicMs;
    expect(await finish(desk, suspendAct('payments', act))).toBe(0);
    expect(desk.runtime.now().monotonicMs - before).toBeLessThan(100);
    expect(await standing(desk)).toMatchObject({ state: 'suspended', suspension: act });
  });

  it('has nothing to do if it was suspended before, and says by whom', async () => {
    const desk = createDesk();
    await desk.session.coordinator.suspend('payments', { by: 'bo@desk', reason: 'INC-9' }, call);
    expect(await finish(desk, suspendAct('payments', act), { yes: false })).toBe(0);
    expect(desk.terminal.answerText).toBe('payments: it was suspended before, by bo@desk: INC-9');
  });

  it('tries on while the store is hard to reach', async () => {
    const desk = createDesk();
    const operating = begin(desk, suspendAct('payments', act));
    await Promise.resolve();
    desk.link.disturb('request', 'drop', { operation: 'suspend', count: 2 });
    expect(await desk.runtime.advanceUntil(operating)).toBe(0);
    expect(await standing(desk)).toMatchObject({ state: 'suspended' });
    expect(desk.terminal.noteText.match(/did not answer; trying again/g)).toHaveLength(1);
  });

  it('says that it stands when the waiting is broken off', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    const operating = begin(desk, suspendAct('payments', act));
    await desk.runtime.advance(1_000);
    desk.stopping.abort(new Error('stopped'));
    await expect(desk.runtime.advanceUntil(operating)).rejects.toThrow('stopped');
    expect(desk.terminal.noteText).toContain('the suspend of payments stands');
  });
});

describe('an act whose answer was lost', () => {
  it('is not done again to the next holder', async () => {
    const desk = createDesk();
    const [first, second] = [desk.actor('replica-1'), desk.actor('replica-2')];
    const term = await first.acquire('payments');
    desk.link.disturb('reply', 'drop', { operation: 'revoke', count: 1 });
    const operating = begin(desk, revokeAct('payments', act));
    await desk.runtime.settle();
    await first.release('payments', term);
    const next = await second.acquire('payments');
    expect(await desk.runtime.advanceUntil(operating)).toBe(0);
    expect(await standing(desk)).toMatchObject({ term: next, revocation: undefined });
  });

  it('is done again if it was lost on its way', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    desk.link.disturb('request', 'drop', { operation: 'revoke', count: 1 });
    expect(await finish(desk, revokeAct('payments', act))).toBe(0);
    expect(await desk.session.coordinator.history('payments', call)).toContainEqual(
      expect.objectContaining({ kind: 'act', act: 'revoke', ...act }),
    );
  });

  it('fails if the store does not answer any more while its effect is awaited', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    const operating = begin(desk, revokeAct('payments', act));
    await desk.runtime.advance(1_000);
    desk.link.cut();
    const failing = expect(desk.runtime.advanceUntil(operating)).rejects.toMatchObject({
      code: 'TENURE_UNREACHABLE',
    });
    await failing;
    expect(desk.terminal.noteText).toContain('the revoke of payments stands');
  });

  it('fails when the time is up', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments', { ttlMs: 600_000 });
    desk.link.disturb('request', 'drop', { operation: 'revoke' });
    await expect(
      finish(desk, revokeAct('payments', act), { timeoutMs: 20_000 }),
    ).rejects.toMatchObject({ code: 'TENURE_OUTCOME_UNKNOWN' });
  });
});

describe('tenure resume', () => {
  async function suspended(): Promise<Desk> {
    const desk = createDesk();
    await desk.session.coordinator.suspend('payments', { by: 'bo@desk', reason: 'INC-9' }, call);
    return desk;
  }

  it('asks nobody, and waits until a candidate holds the name', async () => {
    const desk = await suspended();
    await desk.actor('replica-2').takeWhenCalled('payments');
    expect(await finish(desk, resumeAct('payments', act), { yes: false })).toBe(0);
    expect(desk.terminal.answerText).toMatch(/^payments is resumed: held by replica-2, term \d+$/);
    expect(desk.terminal.noteText).toContain('the suspension by bo@desk: INC-9 ends');
  });

  it('is content with a free name if nobody waits', async () => {
    const desk = await suspended();
    expect(await finish(desk, resumeAct('payments', act))).toBe(0);
    expect(desk.terminal.answerText).toBe('payments is resumed: free');
  });

  it('is content at last if those who wait do not come', async () => {
    const desk = await suspended();
    await desk.actor('replica-2').wait('payments');
    expect(await finish(desk, resumeAct('payments', act), { timeoutMs: 5_000 })).toBe(0);
    expect(desk.terminal.answerText).toBe('payments is resumed, and still free');
  });

  it('waits until a revoked term has ended', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    await desk.session.coordinator.suspend('payments', act, call);
    const operating = begin(desk, resumeAct('payments', act));
    await desk.runtime.advance(20_000);
    expect(desk.terminal.printed).toEqual([]);
    expect(await desk.runtime.advanceUntil(operating)).toBe(0);
    expect(desk.terminal.answerText).toBe('payments is resumed: free');
  });

  it('has nothing to do for a name that is not suspended', async () => {
    const desk = createDesk();
    expect(await finish(desk, resumeAct('payments', act))).toBe(0);
    expect(desk.terminal.answerText).toBe('payments: it is not suspended: free');
  });
});
